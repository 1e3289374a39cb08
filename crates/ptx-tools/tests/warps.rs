//! Tests of warp operations, of barriers, and of the interleaving of threads.

mod common;

use common::run;

/// Returns each thread's `%r9` after `body`. Before it, `%r0` is the thread, `%r1` the lane, and
/// `%p1` whether the lane is odd.
fn threads(body: &str, count: u32, seed: u64) -> Vec<u32> {
    let text = format!(
        "mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; and.b32 %r2, %r1, 1; setp.ne.b32 %p1, %r2, 0;
        {body}
        mul.wide.u32 %rd1, %r0, 8; add.s64 %rd2, %rd31, %rd1; cvt.u64.u32 %rd3, %r9; st.global.b64 [%rd2], %rd3;"
    );
    match run(&text, 1, count, &[0], count as usize, seed) {
        Ok(out) => out.into_iter().map(|w| w as u32).collect(),
        Err(fault) => panic!("{body}: {fault}"),
    }
}

fn expect(body: &str, count: u32, expected: impl Fn(u32) -> u32) {
    for seed in 0..3 {
        let found = threads(body, count, seed);
        assert_eq!(found, (0..count).map(&expected).collect::<Vec<_>>(), "{body}");
    }
}

const ODD: u32 = 0xaaaa_aaaa;

#[test]
fn votes() {
    expect("vote.sync.ballot.b32 %r9, %p1, -1;", 64, |_| ODD);
    expect("vote.sync.ballot.b32 %r9, !%p1, -1;", 64, |_| !ODD);
    // The last warp is not full, and lanes that do not exist do not vote.
    expect("vote.sync.ballot.b32 %r9, %p1, -1;", 40, |t| if t < 32 { ODD } else { 0xaa });
    let truth = |mode: &str, p: &str| {
        format!("setp.lt.u32 %p2, %r0, 32; vote.sync.{mode}.pred %p3, {p}, -1; selp.b32 %r9, 1, 0, %p3;")
    };
    expect(&truth("any", "%p1"), 64, |_| 1);
    expect(&truth("all", "%p1"), 64, |_| 0);
    expect(&truth("all", "%p2"), 64, |t| u32::from(t < 32));
    expect(&truth("any", "%p2"), 64, |t| u32::from(t < 32));
    expect(&truth("uni", "%p2"), 64, |_| 1);
    expect(&truth("uni", "%p1"), 64, |_| 0);
    expect("setp.eq.b32 %p2, 1, 1; vote.sync.all.pred %p3, %p2, -1; selp.b32 %r9, 1, 0, %p3;", 40, |_| 1);
    // Two groups of lanes vote with different masks.
    let groups =
        "selp.b32 %r3, 0xaaaaaaaa, 0x55555555, %p1; setp.lt.u32 %p2, %r1, 8; vote.sync.ballot.b32 %r9, %p2, %r3;";
    expect(groups, 64, |t| if t % 2 == 1 { 0xaa } else { 0x55 });
}

#[test]
fn shuffles() {
    expect("shfl.sync.idx.b32 %r9, %r0, 3, 31, -1;", 64, |t| t / 32 * 32 + 3);
    expect("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1;", 64, |t| t ^ 5);
    expect("shfl.sync.down.b32 %r9|%p2, %r0, 2, 31, -1; @!%p2 add.s32 %r9, %r9, 100;", 32, |t| {
        if t < 30 { t + 2 } else { t + 100 }
    });
    expect("shfl.sync.up.b32 %r9|%p2, %r0, 2, 0, -1; @!%p2 add.s32 %r9, %r9, 100;", 32, |t| {
        if t >= 2 { t - 2 } else { t + 100 }
    });
    // 24 in bits 8 to 12 makes segments of eight lanes.
    expect("shfl.sync.idx.b32 %r9, %r0, 1, 0x181f, -1;", 32, |t| t / 8 * 8 + 1);
    expect("shfl.sync.down.b32 %r9, %r0, 4, 0x181f, -1;", 32, |t| if t % 8 < 4 { t + 4 } else { t });
    // Each lane reads from a different lane.
    expect("sub.s32 %r3, 31, %r1; shfl.sync.idx.b32 %r9, %r0, %r3, 31, -1;", 32, |t| 31 - t);
    // The even lanes read from odd lanes, which do not participate, so the result is random.
    let half = "@%p1 bra $end; add.s32 %r3, %r1, 1; shfl.sync.idx.b32 %r9, %r0, %r3, 31, 0x55555555; $end:";
    assert_ne!(threads(half, 32, 1), threads(half, 32, 2));
}

#[test]
fn matches_and_reductions() {
    let third = "rem.u32 %r3, %r1, 3;";
    let same = |t: u32| (0..32).filter(|l| l % 3 == t % 32 % 3).fold(0, |m, l| m | 1 << l);
    expect(&format!("{third} match.any.sync.b32 %r9, %r3, -1;"), 64, same);
    expect(
        &format!("{third} cvt.u64.u32 %rd1, %r3; shl.b64 %rd1, %rd1, 40; match.any.sync.b64 %r9, %rd1, -1;"),
        64,
        same,
    );
    expect("match.all.sync.b32 %r9|%p2, 7, -1; @%p2 add.s32 %r9, %r9, 2;", 32, |_| 1);
    expect("match.all.sync.b32 %r9|%p2, %r1, -1; @!%p2 add.s32 %r9, %r9, 2;", 32, |_| 2);
    expect("redux.sync.add.u32 %r9, %r0, -1;", 64, |t| if t < 32 { 496 } else { 496 + 1024 });
    expect("redux.sync.min.u32 %r9, %r0, -1;", 64, |t| t / 32 * 32);
    expect("redux.sync.max.u32 %r9, %r0, -1;", 64, |t| t / 32 * 32 + 31);
    expect("sub.s32 %r3, %r1, 16; redux.sync.min.s32 %r9, %r3, -1;", 32, |_| -16i32 as u32);
    expect("sub.s32 %r3, %r1, 16; redux.sync.max.s32 %r9, %r3, -1;", 32, |_| 15);
    expect("redux.sync.or.b32 %r9, %r0, -1;", 32, |_| 31);
    expect("or.b32 %r3, %r1, 64; redux.sync.and.b32 %r9, %r3, -1;", 32, |_| 64);
    expect("redux.sync.xor.b32 %r9, %r2, 0x0000ffff; ", 16, |_| 0);
    expect("elect.sync %r9|%p2, -1; @%p2 add.s32 %r9, %r9, 50;", 64, |t| if t % 32 == 0 { 50 } else { 0 });
}

#[test]
fn active_masks_hold_at_least_oneself_and_agree() {
    let mut sizes = Vec::new();
    for seed in 0..20 {
        // Lanes that are in the same active mask can vote together, whatever the mask is.
        let masks = threads("@%p1 bra $end; activemask.b32 %r9; vote.sync.ballot.b32 %r3, 1, %r9; $end:", 32, seed);
        for (lane, mask) in masks.iter().enumerate().step_by(2) {
            assert!(mask >> lane & 1 == 1 && mask & ODD == 0);
            assert!((0..32).filter(|l| mask >> l & 1 == 1).all(|l| masks[l] == *mask));
            sizes.push(mask.count_ones());
        }
    }
    assert!(sizes.contains(&16) && sizes.iter().any(|n| *n < 16), "{sizes:?}");
}

#[test]
fn barriers() {
    // Each thread writes a word and then reads another thread's word, which is only correct with a
    // barrier.
    let shared = |barrier: &str| {
        format!(
            "{{ .shared .align 16 .b8 sm[256]; mov.u32 %r4, sm; }} shl.b32 %r5, %r0, 2; add.s32 %r6, %r4, %r5;
            st.shared.b32 [%r6], %r0; {barrier} xor.b32 %r7, %r5, 252; add.s32 %r7, %r7, %r4; ld.shared.b32 %r9, [%r7];"
        )
    };
    for barrier in ["bar.sync 0;", "barrier.sync 0;", "barrier.cta.sync.aligned 3;", "barrier.cta.sync.aligned 3, 64;"]
    {
        expect(&shared(barrier), 64, |t| 63 - t);
    }
    assert_ne!(threads(&shared(""), 64, 1), (0..64).rev().collect::<Vec<_>>());
    expect("bar.red.popc.u32 %r9, 0, %p1;", 64, |_| 32);
    expect("setp.lt.u32 %p2, %r0, 5; barrier.cta.red.popc.aligned.u32 %r9, 0, !%p2;", 64, |_| 59);
    expect("bar.red.and.pred %p2, 0, %p1; selp.b32 %r9, 1, 0, %p2;", 64, |_| 0);
    expect("bar.red.or.pred %p2, 0, %p1; selp.b32 %r9, 1, 0, %p2;", 64, |_| 1);
    // A barrier does not wait for threads that have exited.
    expect("setp.ge.u32 %p2, %r0, 40; @%p2 exit; bar.red.popc.u32 %r9, 0, %p1;", 64, |t| if t < 40 { 20 } else { 0 });
    // One warp arrives and continues, and the other warp waits for it.
    let arrive = "{ .shared .align 16 .b8 sm[16]; mov.u32 %r4, sm; } setp.lt.u32 %p2, %r0, 32; mov.b32 %r9, 8; @%p2 bra $wait;
        st.shared.b32 [%r4], 9; barrier.cta.arrive 1, 64; bra.uni $end; $wait: barrier.cta.sync 1, 64; ld.shared.b32 %r9, [%r4]; $end:";
    expect(arrive, 64, |t| if t < 32 { 9 } else { 8 });
    // In a loop of barriers, no thread can overtake.
    let rounds = "mov.b32 %r9, 0; mov.b32 %r3, 0; $round: bar.red.popc.u32 %r5, 0, %p1; add.s32 %r9, %r9, %r5;
        bar.sync 0; add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 10; @%p2 bra $round;";
    expect(rounds, 96, |_| 480);
}

/// Runs blocks that wait for each other through global memory. One block spins until the other has
/// written.
#[test]
fn blocks_run_side_by_side() {
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.b32 %p1, %r1, 0; @!%p1 bra $other;
        $spin: ld.acquire.gpu.global.b64 %rd1, [%rd31]; setp.eq.b64 %p2, %rd1, 0; @%p2 bra $spin; st.global.b64 [%rd31+8], %rd1; bra.uni $end;
        $other: st.release.gpu.global.b64 [%rd31], 77; $end:";
    assert_eq!(run(body, 2, 1, &[0], 2, 1), Ok(vec![77, 77]));
}

/// Shows that increments without atomics lose updates. The interleaving must make this visible.
#[test]
fn lost_updates_show() {
    let body =
        "mov.b32 %r3, 0; $round: ld.global.b64 %rd1, [%rd31]; add.s64 %rd1, %rd1, 1; st.global.b64 [%rd31], %rd1;
        add.s32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 100; @%p2 bra $round;";
    let sums: Vec<u64> = (0..5).map(|seed| run(body, 2, 4, &[0], 1, seed).expect("no fault")[0]).collect();
    assert!(sums.iter().all(|s| (100..800).contains(s)), "{sums:?}");
    assert!(sums.iter().any(|s| *s != sums[0]), "{sums:?}");
}

/// Returns in how many of 100 schedules a block of 128 threads reads a wrong word. Each thread
/// writes a word to shared memory, executes `between`, and reads the word of its neighbour at
/// `distance`.
fn wrong_neighbours(distance: u32, between: &str) -> usize {
    let body = format!(
        ".shared .align 4 .b8 words[512]; mov.b32 %r3, words; shl.b32 %r4, %r0, 2; add.s32 %r5, %r3, %r4;
        st.shared.b32 [%r5], %r0; {between}
        xor.b32 %r6, %r4, {}; add.s32 %r7, %r3, %r6; ld.shared.b32 %r9, [%r7];",
        4 * distance
    );
    let is_wrong = |&seed: &u64| threads(&body, 128, seed) != (0..128).map(|t| t ^ distance).collect::<Vec<_>>();
    (0..100).filter(is_wrong).count()
}

#[test]
fn a_barrier_that_is_left_out_is_noticed_within_few_launches() {
    assert_eq!(wrong_neighbours(64, "bar.sync 0;"), 0);
    assert_eq!(wrong_neighbours(1, "bar.warp.sync -1;"), 0);
    // Without a barrier, the order of warps is random, but the lanes of a warp usually move
    // together.
    assert!(wrong_neighbours(64, "") > 90, "{}", wrong_neighbours(64, ""));
    assert!(wrong_neighbours(64, "bar.warp.sync -1;") > 90);
    assert!(wrong_neighbours(1, "") > 50, "{}", wrong_neighbours(1, ""));
    assert!(wrong_neighbours(16, "") > 50, "{}", wrong_neighbours(16, ""));
}
