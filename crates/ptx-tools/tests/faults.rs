//! Tests that each kind of fault is reported with its location.

mod common;

use common::{Device, kernel, run, schedule};
use ptx_tools::{Fault, Launch, Module, Regions, Space};

fn fault(body: &str, grid: u32, threads: u32) -> Fault {
    run(body, grid, threads, &[1, 2, 3, 4], 4, 7).expect_err("it must fail")
}

#[test]
fn out_of_bounds() {
    let store = fault(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 8; add.s64 %rd2, %rd31, %rd1; st.global.b64 [%rd2], 1;",
        1,
        5,
    );
    let Fault::OutOfBounds { at, space: Space::Global, bytes: 8, .. } = &store else { panic!("{store}") };
    assert_eq!((at.thread, at.block, at.instruction.as_str()), (4, 0, "st.global.b64 [%rd2], 1"));
    assert_eq!((at.entry.as_str(), at.line), ("k", 10));
    assert!(store.to_string().contains("k, block 0, thread 4, line 10: st.global.b64 [%rd2], 1"), "{store}");
    for body in [
        "ld.global.b64 %rd1, [%rd30+-8];",
        "ld.global.b64 %rd1, [%rd30+32];",
        "ld.global.v2.b64 {%rd1, %rd2}, [%rd30+32];",
        "ld.global.b8 %rs1, [%rd30+32];",
        "ld.global.b64 %rd1, [0];",
        "ld.global.b64 %rd1, [-8];",
        "ld.b64 %rd1, [%rd30+32];",
        "atom.global.add.u32 %r1, [%rd30+32], 1;",
        "red.global.add.u32 [%rd30+32], 1;",
        "ld.param.b64 %rd1, [y+8];",
        "st.param.b64 [y], 1;",
        "{ .shared .align 16 .b8 sm[64]; mov.u32 %r1, sm; } st.shared.b32 [%r1+64], 1;",
        "{ .shared .align 16 .b8 sm[64]; mov.u32 %r1, sm; } ld.shared.b32 %r2, [%r1+-4];",
        "{ .shared .align 16 .b8 a[64]; mov.u32 %r1, a; } { .shared .align 16 .b8 b[64]; } st.shared.b32 [%r1+64], 1;",
        "ld.shared.b32 %r1, [0];",
        "mov.u32 %r1, dynamic; ld.shared.b32 %r2, [%r1+256];",
    ] {
        assert!(matches!(fault(body, 1, 1), Fault::OutOfBounds { .. }), "{body}");
    }
}

#[test]
fn removed_regions_are_out_of_bounds() {
    let module = Module::parse(&kernel("ld.global.b64 %rd1, [%rd30];")).expect("well-formed");
    let mut device = Device::new();
    let (x, y) = (device.upload(&[1u64]), device.upload(&[1u64]));
    let launch = |regions: &Regions| module.launch("k", 1, 1, &arguments!(x, y), regions, schedule(0));
    assert_eq!(launch(&device.regions), Ok(()));
    device.regions.remove(y as usize);
    assert_eq!(launch(&device.regions), Ok(()));
    device.regions.remove(x as usize);
    assert!(matches!(launch(&device.regions), Err(Fault::OutOfBounds { address, .. }) if address == x));
}

#[test]
fn constants_are_read_only() {
    let text = kernel("mov.b64 %rd1, table; ld.global.nc.b16 %rs1, [%rd1+2]; st.global.b16 [%rd31], %rs1; BODY")
        .replace(".visible .entry", ".global .align 2 .b8 table[6] = {1, 0, 44, 1};\n.global .align 8 .b64 second[2] = {5, table};\n.global .b8 third[16];\n.visible .entry");
    let run = |body: &str| {
        let module = Module::parse(&text.replace("BODY", body)).expect("well-formed");
        let mut device = Device::new();
        let (x, y) = (device.upload(&[1u64]), device.upload(&[1u64]));
        module.launch("k", 1, 1, &arguments!(x, y), &device.regions, schedule(0))?;
        Ok(device.download::<u64>(y, 1)[0])
    };
    assert_eq!(run(""), Ok(300));
    // Bytes without an initialiser are zero.
    assert_eq!(run("ld.global.b16 %rs1, [%rd1+4]; st.global.b16 [%rd31], %rs1;"), Ok(0));
    // The second array contains the address of the first array.
    assert_eq!(run("ld.global.b64 %rd2, [second+8]; ld.b8 %rs1, [%rd2+2]; st.global.b16 [%rd31], %rs1;"), Ok(44));
    assert!(matches!(run("ld.global.b64 %rd2, [second+16];"), Err(Fault::OutOfBounds { .. })));
    assert!(matches!(run("st.global.b16 [%rd1], 1;"), Err(Fault::OutOfBounds { .. })));
    assert!(matches!(run("ld.global.b16 %rs1, [%rd1+6];"), Err(Fault::OutOfBounds { .. })));
}

#[test]
fn misaligned() {
    for body in [
        "ld.global.b32 %r1, [%rd30+2];",
        "ld.global.v2.b64 {%rd1, %rd2}, [%rd30+8];",
        "st.global.b16 [%rd30+1], 1;",
        "{ .shared .align 16 .b8 sm[64]; mov.u32 %r1, sm; } ld.shared.b64 %rd1, [%r1+4];",
        "atom.global.cas.b64 %rd1, [%rd30+4], 1, 1;",
    ] {
        assert!(matches!(fault(body, 1, 1), Fault::Misaligned { .. }), "{body}");
    }
}

#[test]
fn traps() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; add.s32 %r3, %r1, %r2; setp.ne.b32 %p1, %r3, 4; @%p1 bra $ok; trap; $ok:";
    let Fault::Trap { at } = fault(body, 2, 4) else { panic!() };
    assert_eq!((at.block, at.thread), (1, 3));
}

#[test]
fn divergent_barriers() {
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; @%p1 bra $a;\nbar.sync 0;\nbra.uni $end; $a:\nbar.sync 0;\n$end:";
    let Fault::DivergentBarrier { at, other_line, .. } = fault(body, 1, 64) else { panic!() };
    assert_eq!((at.line.min(other_line), at.line.max(other_line)), (11, 13));
    // Barriers with different indices may be at different instructions.
    let two = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra $a; barrier.sync 1, 32; bra.uni $end; $a: barrier.cta.sync 2, 32; $end:";
    assert!(run(two, 3, 64, &[0], 1, 1).is_ok());
    assert!(matches!(fault("bar.sync 16;", 1, 64), Fault::BadBarrier { .. }));
    assert!(matches!(fault("bar.sync 1, 33;", 1, 64), Fault::BadBarrier { .. }));
}

#[test]
fn deadlocks() {
    // Lane 5 exits before the other lanes' shuffle.
    let body = "mov.u32 %r1, %tid.x; setp.eq.b32 %p1, %r1, 5; @%p1 exit; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;";
    let Fault::Deadlock { at, waiting } = fault(body, 1, 32) else { panic!() };
    assert_eq!((at.instruction.starts_with("shfl"), waiting), (true, 31));
    // The two halves of the warp are at different votes.
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra $a; vote.sync.ballot.b32 %r2, %p1, -1; bra.uni $end; $a: vote.sync.ballot.b32 %r2, %p1, -1; $end:";
    assert!(matches!(fault(body, 1, 32), Fault::Deadlock { waiting: 32, .. }));
    // All lanes are at the same vote, but their masks differ.
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; selp.b32 %r3, 0x1ffff, -1, %p1; vote.sync.ballot.b32 %r2, %p1, %r3;";
    assert!(matches!(fault(body, 1, 32), Fault::Deadlock { waiting: 32, .. }));
    // The barrier waits for more threads than the block has.
    assert!(matches!(fault("bar.sync 1, 64;", 1, 32), Fault::Deadlock { waiting: 32, .. }));
    // Half of the lanes wait at a barrier, and the other half at a warp operation.
    let body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra $a; bar.sync 0; bra.uni $end; $a: bar.warp.sync -1; $end:";
    assert!(matches!(fault(body, 1, 32), Fault::Deadlock { .. }));
    assert!(matches!(fault("bar.warp.sync 2;", 1, 1), Fault::NotInMask { mask: 2, .. }));
}

#[test]
fn endless_loops() {
    let Fault::StepLimit { at, limit } = fault("$again: bra.uni $again;", 1, 2) else { panic!() };
    assert_eq!((at.instruction.as_str(), limit), ("bra.uni $again", 2_000_000));
    let module = Module::parse(&kernel("")).expect("well-formed");
    let mut device = Device::new();
    let (x, y) = (device.upload(&[1u64]), device.upload(&[1u64]));
    let run = |step_limit| {
        let launch = Launch { step_limit, ..Launch::new("k", 1, 1) };
        module.launch_with(&launch, &arguments!(x, y), &device.regions)
    };
    // The kernel loads two parameters and then returns.
    assert_eq!(run(3), Ok(3));
    assert!(matches!(run(2), Err(Fault::StepLimit { limit: 2, .. })));
}

#[test]
fn unknown_instructions() {
    for (body, reason) in [
        ("frobnicate.b32 %r1, %r2;", "opcode"),
        ("add.ftz.f32 %r1, %r2, %r3;", ".ftz"),
        ("add.s32 %r1, %r2, %r77;", "no register, symbol or number %r77"),
        ("bra $nowhere;", "no label $nowhere"),
        ("ld.global.funny.b32 %r1, [%rd30];", ".funny"),
        ("add.s32 %r1, %r2;", "2 sources were expected"),
        ("{ .reg .b32 hidden; } mov.b32 %r1, hidden;", "no register, symbol or number hidden"),
    ] {
        let found = fault(&format!("bra $over;\n{body}\n$over:"), 1, 1);
        let Fault::UnknownInstruction { entry, line, reason: why, .. } = &found else { panic!("{found}") };
        assert_eq!((entry.as_str(), *line, why.as_str()), ("k", 11, reason), "{body}");
    }
}

#[test]
fn launches_that_cannot_be() {
    let module = Module::parse(&kernel("").replace(")\n{", ")\n.maxntid 64, 1, 1\n{")).expect("well-formed");
    assert_eq!(module.entries[0].max_threads, Some(64));
    let regions = Regions::new();
    let launch =
        |entry, threads, arguments: &[&[u8]]| module.launch(entry, 1, threads, arguments, &regions, schedule(0));
    let words = arguments!(1u64, 2u64);
    assert_eq!(launch("k", 64, &words), Ok(()));
    assert_eq!(launch("j", 1, &words), Err(Fault::MissingEntry { entry: "j".into() }));
    assert_eq!(launch("k", 65, &words), Err(Fault::BlockSize { entry: "k".into(), threads: 65 }));
    assert_eq!(launch("k", 0, &words), Err(Fault::BlockSize { entry: "k".into(), threads: 0 }));
    let count = Fault::ArgumentCount { entry: "k".into(), expected: 2, given: 1 };
    assert_eq!(launch("k", 1, &words[..1]), Err(count));
    let size = Fault::ArgumentSize { entry: "k".into(), index: 1, expected: 8, given: 4 };
    assert_eq!(launch("k", 1, &arguments!(1u64, 2u32)), Err(size));
}

#[test]
fn text_that_is_no_ptx() {
    let error = Module::parse(".version 8.3\n.target sm_90\n.entry k() {\n ret;\n").expect_err("the body has no end");
    assert_eq!(error.line, 4);
    assert!(Module::parse("hello").is_err());
    assert!(Module::parse("").is_ok_and(|m| m.entries.is_empty()));
}
