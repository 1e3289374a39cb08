//! Tests of the linter on a good kernel, and on bad statements for each rule.

mod common;

use common::kernel;
use ptx_tools::{Rule, lint};

fn found(text: &str) -> Vec<(String, Rule)> {
    lint(text).into_iter().map(|f| (f.entry, f.rule)).collect()
}

const GOOD: &str = "
    // begin inline asm
    { .shared .align 16 .b8 sm_keys[64]; mov.u32 %r1, sm_keys; }
    // end inline asm
    // begin inline asm
    { .shared .align 16 .b8 sm_marks[64]; mov.u32 %r2, sm_marks; }
    // end inline asm
    ld.global.nc.b32 %r3, [%rd30];
    // begin inline asm
    st.shared.u32 [%r1], %r3;
    // end inline asm
    bar.sync 0;
    shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;
    // begin inline asm
    ld.shared.u32 %r5, [%r1]; fence.acq_rel.gpu; // no bar.sync here
    // end inline asm
    atom.relaxed.sys.global.cas.b32 %r6, [%rd31], %r5, 1;
    red.shared::cta.add.u32 [%r1], 1;";

#[test]
fn good_code_passes() {
    assert_eq!(lint(&kernel(GOOD)), []);
    // A function that is never called is allowed, whatever it contains.
    let unused = ".visible .func helper(.param .b64 p) { .local .align 8 .b8 __local_depot9[8]; ld.b32 %r1, [%rd1]; call other; ret; }";
    assert_eq!(lint(&format!("{}{unused}", kernel(GOOD))), []);
    // A function may be declared first and defined later.
    let declared = ".extern .func f;\n.func f { ret; }";
    assert_eq!(lint(&format!("{}{declared}", kernel(GOOD))), []);
}

#[test]
fn each_rule_finds_its_own() {
    for (rule, bad) in [
        (Rule::StackFrame, ".local .align 8 .b8 __local_depot0[192];"),
        (Rule::Call, "call.uni (retval0), helper, (param0);"),
        (Rule::Call, "{ .param .b64 param0; st.param.b64 [param0], %rd1; call.uni helper, (param0); }"),
        (Rule::GenericAccess, "ld.b32 %r1, [%rd1];"),
        (Rule::GenericAccess, "@%p1 st.relaxed.sys.b32 [%rd1], %r1;"),
        (Rule::GenericAccess, "@!%p1 atom.add.u32 %r1, [%rd1], 1;"),
        (Rule::GenericAccess, "red.add.u32 [%rd1], 1;"),
        (Rule::ConvergentAsm, "// begin inline asm\nbar.sync 0;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\nmov.b32 %r1, 0; barrier.cta.arrive 1, 64;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\nactivemask.b32 %r1;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\n{ .reg .pred p; elect.sync _|p, -1; }\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\n@%p1 vote.sync.ballot.b32 %r1, %p1, -1;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\nshfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\nmatch.any.sync.b32 %r1, %r2, -1;\n// end inline asm"),
        (Rule::ConvergentAsm, "// begin inline asm\nredux.sync.add.u32 %r1, %r2, -1;\n// end inline asm"),
        (
            Rule::ConvergentAsm,
            "// begin inline asm\nwmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1];\n// end inline asm",
        ),
        (
            Rule::SharedTwice,
            "// begin inline asm\n{ .shared .align 16 .b8 sm[64]; mov.u32 %r1, sm; }\n// end inline asm\nmov.b32 %r2, 0;\
             \n// begin inline asm\n{ .shared .align 16 .b8 sm[64]; mov.u32 %r7, sm; }\n// end inline asm",
        ),
    ] {
        assert_eq!(found(&kernel(&format!("{GOOD}\n{bad}"))), [("k".to_string(), rule)], "{bad}");
    }
    for bad in [".extern .func helper(.param .b64 p);", ".extern .global .align 4 .u32 counter;"] {
        assert_eq!(found(&format!("{bad}\n{}", kernel(GOOD))), [(String::new(), Rule::Undefined)], "{bad}");
    }
    assert_eq!(found(&format!("{} }}", kernel(GOOD))), [(String::new(), Rule::Unreadable)]);
}

#[test]
fn findings_say_where() {
    let text = kernel("ld.global.b32 %r1, [%rd30];\nld.b32 \t%r1,\n [%rd1];");
    let findings: Vec<String> = lint(&text).iter().map(|f| f.to_string()).collect();
    assert_eq!(findings, ["k: generic-space access: line 11: ld.b32 %r1, [%rd1]"]);
    let text = format!("{}.extern .func gone;", kernel(""));
    assert_eq!(lint(&text)[0].to_string(), "module: undefined symbol: line 13: .extern .func gone");
}

/// Checks that the good kernel is not blamed for the other kernel of the module.
#[test]
fn entries_are_told_apart() {
    let second = kernel("ld.b32 %r1, [%rd1];").replace(" k(", " second(");
    let second = second.split_once(".visible").map_or("", |(_, rest)| rest);
    let text = format!("{}.visible{second}", kernel(GOOD));
    assert_eq!(found(&text), [("second".to_string(), Rule::GenericAccess)]);
}
