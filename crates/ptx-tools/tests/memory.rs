//! Tests of loads, stores and atomics in every space, of names and scopes, and of special
//! registers.

mod common;

use common::{eval, eval32, run};

#[test]
fn widths_and_signs() {
    let x = [0x8182_8384_f5f6_f7f8u64, 0x0102_0304_0506_0708];
    let load = |what: &str, offset: u32, to: &str| {
        let out = if to == "%rd9" { "" } else { "cvt.u64.u32 %rd9, %r9;" };
        eval(&format!("ld.global.{what} {to}, [%rd30+{offset}]; {out}"), &x)
    };
    assert_eq!(load("b8", 1, "%rd9"), 0xf7);
    assert_eq!(load("s8", 1, "%rd9"), 0xffff_ffff_ffff_fff7);
    assert_eq!(load("s8", 1, "%r9"), 0xffff_fff7);
    assert_eq!(load("u16", 6, "%r9"), 0x8182);
    assert_eq!(load("s16", 6, "%r9"), 0xffff_8182);
    assert_eq!(load("s32", 4, "%rd9"), 0xffff_ffff_8182_8384);
    assert_eq!(load("relaxed.sys.global.b64".trim_start_matches("global."), 8, "%rd9"), x[1]);
    for hints in ["volatile", "acquire.gpu", "weak", "relaxed.cta", "cs", "nc", "cg", "nc.L1::no_allocate"] {
        // The space may come before or after the qualifier.
        assert_eq!(eval(&format!("ld.global.{hints}.b64 %rd9, [%rd30+8];"), &x), x[1], "{hints}");
        assert_eq!(eval(&format!("ld.{hints}.global.b64 %rd9, [%rd30+8];"), &x), x[1], "{hints}");
    }
    let policy = "createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
        prefetch.global.L2 [%rd30]; fence.acq_rel.gpu; membar.gl; nanosleep.u32 20;
        ld.global.nc.L1::no_allocate.L2::cache_hint.v2.b64 {%rd6, %rd7}, [%rd30], %rd5; xor.b64 %rd9, %rd6, %rd7;";
    assert_eq!(eval(policy, &x), x[0] ^ x[1]);
    assert_eq!(
        eval("ld.global.v4.b32 {%r4, _, %r6, %r7}, [%rd30]; xor.b32 %r8, %r4, %r7; cvt.u64.u32 %rd9, %r8;", &x),
        0xf5f6_f7f8 ^ 0x0102_0304
    );
    assert_eq!(
        eval("ld.global.b128 %rq1, [%rd30]; mov.b128 {%rd6, %rd7}, %rq1; sub.s64 %rd9, %rd7, %rd6;", &x),
        x[1].wrapping_sub(x[0])
    );
    // Narrow stores do not change the bytes beside them. A store of a wider register stores its low
    // part.
    let stores =
        "st.global.b8 [%rd30], %rd1; st.relaxed.sys.global.b16 [%rd30+2], %r1; st.release.gpu.global.u32 [%rd30+4], 7;
        ld.global.b64 %rd9, [%rd30];";
    assert_eq!(eval(stores, &x), 0x0000_0007_0708_f708);
    let vector = "st.global.v4.b16 [%rd30+8], {1, 2, %rs1, 4}; ld.global.b64 %rd9, [%rd30+8];";
    assert_eq!(eval(&format!("mov.b16 %rs1, -1; {vector}"), &x), 0x0004_ffff_0002_0001);
}

#[test]
fn atomics() {
    let atom = |what: &str, operands: &str, old: u64, b: u64, c: u64| {
        let body =
            format!("atom.{what} %rd9, [%rd30], {operands}; ld.global.b64 %rd8, [%rd30]; xor.b64 %rd9, %rd9, %rd8;");
        let old_and_new = eval(&body, &[old, b, c]);
        old_and_new ^ old
    };
    const HIGH: u64 = 1 << 63;
    assert_eq!(atom("global.add.u64", "%rd1", 5, u64::MAX, 0), 4);
    assert_eq!(atom("relaxed.gpu.global.exch.b64", "%rd1", 5, 9, 0), 9);
    assert_eq!(atom("acq_rel.sys.global.cas.b64", "%rd1, %rd2", 5, 5, 7), 7);
    assert_eq!(atom("relaxed.sys.global.cas.b64", "%rd1, %rd2", 5, 6, 7), 5);
    assert_eq!(atom("global.min.u64", "%rd1", HIGH, 1, 0), 1);
    assert_eq!(atom("global.min.s64", "%rd1", HIGH, 1, 0), HIGH);
    assert_eq!(atom("global.max.s64", "%rd1", HIGH, 1, 0), 1);
    assert_eq!(atom("global.max.u64", "%rd1", HIGH, 1, 0), HIGH);
    assert_eq!(atom("global.and.b64", "%rd1", 12, 10, 0), 8);
    assert_eq!(atom("global.or.b64", "%rd1", 12, 10, 0), 14);
    assert_eq!(atom("global.xor.b64", "%rd1", 12, 10, 0), 6);
    assert_eq!(atom("global.inc.u32", "%r1", 9, 9, 0), 0);
    assert_eq!(atom("global.inc.u32", "%r1", 8, 9, 0), 9);
    assert_eq!(atom("global.dec.u32", "%r1", 0, 9, 0), 9);
    // In 32-bit atomics, the comparison and the sum have 32 bits, and the upper half of the word
    // stays.
    let word = "atom.global.add.u32 %r4, [%rd30], %r1; ld.global.b64 %rd9, [%rd30];";
    assert_eq!(eval(word, &[0x1_ffff_ffff, 2]), 0x1_0000_0001);
    assert_eq!(eval32("atom.global.cas.b32 %r9, [%rd30+4], -1, 3;", &[0xffff_ffff_0000_0000]), u32::MAX);
    let reduction = "red.relaxed.gpu.global.add.u64 [%rd30], %rd1; red.global.max.u32 [%rd30+8], 50; ld.global.v2.b64 {%rd4, %rd5}, [%rd30]; add.s64 %rd9, %rd4, %rd5;";
    assert_eq!(eval(reduction, &[5, 10]), 65);
    let float = "atom.global.add.f32 %r4, [%rd30], 0f3f800000; ld.global.b32 %r9, [%rd30];";
    assert_eq!(eval32(float, &[1.5f32.to_bits().into()]), 2.5f32.to_bits());
}

#[test]
fn wide_compare_and_exchange() {
    let cas = |expected: [u64; 2]| {
        let body = "ld.global.v2.b64 {%rd4, %rd5}, [%rd30+16];
            { .reg .b128 x, y, z; mov.b128 x, {%rd4, %rd5}; mov.b128 z, {70, 80};
              atom.relaxed.gpu.global.cas.b128 y, [%rd30], x, z; mov.b128 {%rd6, %rd7}, y; }
            st.global.v2.b64 [%rd31], {%rd6, %rd7}; ld.global.v2.b64 {%rd6, %rd7}, [%rd30]; st.global.v2.b64 [%rd31+16], {%rd6, %rd7};";
        run(body, 1, 1, &[1, 2, expected[0], expected[1]], 4, 0).expect("no fault")
    };
    assert_eq!(cas([1, 2]), [1, 2, 70, 80]);
    assert_eq!(cas([1, 3]), [1, 2, 1, 2]);
}

#[test]
fn wide_exchange_and_load() {
    let body = "{ .reg .b128 old, new; mov.b128 new, {70, 80}; atom.relaxed.gpu.global.exch.b128 old, [%rd30], new; mov.b128 {%rd6, %rd7}, old; }
        st.global.v2.b64 [%rd31], {%rd6, %rd7};
        { .reg .b128 whole; ld.relaxed.gpu.global.b128 whole, [%rd30]; mov.b128 {%rd6, %rd7}, whole; }
        st.global.v2.b64 [%rd31+16], {%rd6, %rd7};";
    assert_eq!(run(body, 1, 1, &[1, 2], 4, 0).expect("no fault"), [1, 2, 70, 80]);
    // A 16-byte access must begin at a multiple of 16.
    let load = "{ .reg .b128 whole; ld.relaxed.gpu.global.b128 whole, [%rd30+8]; }";
    assert!(run(load, 1, 1, &[1, 2, 3, 4], 1, 0).is_err());
}

#[test]
fn special_registers() {
    let body = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
        mul.wide.u32 %rd1, %r4, 32; add.s64 %rd2, %rd31, %rd1;
        mov.u32 %r5, %laneid; mov.u32 %r6, %lanemask_lt; mov.u32 %r7, %warpid; mov.u32 %r8, %nctaid.x;
        st.global.v4.b32 [%rd2], {%r5, %r6, %r7, %r8};
        mov.u32 %r5, %lanemask_le; mov.u32 %r6, %lanemask_gt; mov.u32 %r7, %lanemask_ge; mov.u32 %r8, %lanemask_eq;
        st.global.v4.b32 [%rd2+16], {%r5, %r6, %r7, %r8};";
    let out = run(body, 2, 40, &[0], 2 * 40 * 4, 3).expect("no fault");
    let words: Vec<u32> = out.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect();
    for (i, found) in words.chunks(8).enumerate() {
        let thread = i as u32 % 40;
        let lane = thread % 32;
        let equal = 1u32 << lane;
        let less = equal - 1;
        assert_eq!(found, [lane, less, thread / 32, 2, less | equal, !(less | equal), !less, equal]);
    }
    assert_eq!(eval32("mov.u32 %r9, %dynamic_smem_size;", &[]), 256);
    assert_eq!(eval32("mov.u32 %r4, %tid.y; mov.u32 %r5, %nctaid.z; add.s32 %r9, %r4, %r5;", &[]), 1);
    let clock = "mov.u64 %rd4, %clock64; add.s64 %rd5, %rd5, 1; mov.u64 %rd6, %globaltimer; setp.gt.u64 %p1, %rd6, %rd4; selp.b64 %rd9, 1, 0, %p1;";
    assert_eq!(eval(clock, &[]), 1);
}

#[test]
fn shared_arrays_and_scopes() {
    // Two scopes have an array of the same name, and registers of the same name.
    let body = "{ .shared .align 16 .b8 sm[64]; .reg .b32 t; mov.u32 t, sm; mov.u32 %r4, t; }
        { .shared .align 16 .b8 sm[64]; .reg .b64 t; mov.u32 %r5, sm; mov.b64 t, 3; { .reg .b32 t; mov.b32 t, 9; } add.s64 %rd6, t, 1; }
        mov.u32 %r6, dynamic;
        st.shared.b32 [%r4+60], 100; st.shared.v2.b32 [%r5], {20, 21}; st.volatile.shared.b32 [%r6+252], 3;
        ld.shared.b32 %r7, [%r4+60]; ld.shared.v2.b32 {%r8, %r9}, [%r5]; ld.shared.b32 %r10, [%r6+252];
        atom.shared.add.u32 %r11, [%r5+4], 1000; ld.shared.b32 %r12, [%r5+4];
        add.s32 %r9, %r7, %r8; add.s32 %r9, %r9, %r10; add.s32 %r9, %r9, %r11; add.s32 %r9, %r9, %r12;
        cvt.u32.u64 %r13, %rd6; add.s32 %r9, %r9, %r13;";
    assert_eq!(eval32(body, &[]), 100 + 20 + 3 + 21 + 1021 + 4);
    // Sums of 32-bit addresses wrap around.
    let wrapped = "{ .shared .align 16 .b8 sm[64]; mov.u32 %r4, sm; } sub.s32 %r5, %r4, 4096;
        st.shared.b32 [%r5+4100], 9; ld.shared.b32 %r9, [%r4+4];";
    assert_eq!(eval32(wrapped, &[]), 9);
}

#[test]
fn generic_addresses() {
    let body = "{ .shared .align 16 .b8 sm[64]; mov.u32 %r4, sm; } cvt.u64.u32 %rd4, %r4; cvta.shared.u64 %rd5, %rd4;
        st.b64 [%rd5+8], 5; ld.shared.b64 %rd6, [%r4+8]; cvta.to.shared.u64 %rd7, %rd5; ld.shared.b64 %rd8, [%rd7+8];
        ld.b64 %rd0, [%rd30]; mad.lo.s64 %rd9, %rd6, 10, %rd8; mad.lo.s64 %rd9, %rd9, 10, %rd0;";
    assert_eq!(eval(body, &[7]), 557);
    let local = ".local .align 8 .b8 __local_depot0[32]; mov.b64 %rd4, __local_depot0; cvta.local.u64 %rd5, %rd4;
        st.local.b64 [%rd4+24], 6; ld.b64 %rd9, [%rd5+24];";
    assert_eq!(eval(local, &[]), 6);
    let param = "mov.b64 %rd4, y; ld.param.b64 %rd5, [%rd4]; cvta.param.u64 %rd6, %rd4; ld.b64 %rd7, [%rd6]; sub.s64 %rd8, %rd5, %rd31; sub.s64 %rd9, %rd7, %rd5; add.s64 %rd9, %rd8, %rd9;";
    assert_eq!(eval(param, &[]), 0);
}

#[test]
fn shared_memory_is_not_zero_at_first() {
    let body = "{ .shared .align 16 .b8 sm[64]; mov.u32 %r4, sm; }
        mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 8; add.s64 %rd2, %rd31, %rd1;
        ld.shared.b64 %rd3, [%r4+56]; st.global.b64 [%rd2], %rd3; st.shared.b64 [%r4+56], 0;";
    let mut out = run(body, 8, 1, &[0], 8, 1).expect("no fault");
    assert!(!out.contains(&0));
    out.sort();
    out.dedup();
    assert_eq!(out.len(), 8);
}
