//! Tests of each instruction on registers against its expected result.

mod common;

use common::{eval, eval32};

const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0x0123_4567_89ab_cdef;
const M1: u64 = u64::MAX;

#[test]
fn sums_and_carries() {
    assert_eq!(eval("add.s64 %rd9, %rd0, %rd1;", &[A, B]), A.wrapping_add(B));
    assert_eq!(eval32("sub.s32 %r9, %r0, %r1;", &[3, 5]), -2i32 as u32);
    assert_eq!(eval("add.s64 %rd9, %rd0, -1;", &[0]), M1);
    // Results are truncated to the type, even if the register is wider.
    assert_eq!(eval("add.s16 %rs0, -1, 2; cvt.u64.u16 %rd9, %rs0;", &[]), 1);
    // In 128-bit sums, the carry reaches the upper half.
    let sum = "add.cc.s64 %rd4, %rd0, %rd2; addc.cc.s64 %rd9, %rd1, %rd3;";
    assert_eq!(eval(sum, &[M1, 5, 1, 6]), 12);
    assert_eq!(eval(sum, &[M1, M1, 1, 0]), 0);
    let carry_out = "add.cc.s64 %rd4, %rd0, %rd2; addc.cc.s64 %rd5, %rd1, %rd3; addc.s64 %rd9, 0, 0;";
    assert_eq!(eval(carry_out, &[M1, M1, 1, 0]), 1);
    assert_eq!(eval(carry_out, &[M1, 0, 1, 0]), 0);
    let difference = "sub.cc.s64 %rd4, %rd0, %rd2; subc.cc.s64 %rd9, %rd1, %rd3;";
    assert_eq!(eval(difference, &[0, 7, 1, 2]), 4);
    assert_eq!(eval(difference, &[1, 7, 1, 2]), 5);
    assert_eq!(eval32("add.cc.u32 %r4, %r0, %r0; addc.u32 %r9, 3, 4;", &[0x8000_0000]), 8);
    assert_eq!(eval32("sub.cc.u32 %r4, 0, %r0; subc.u32 %r9, 9, 4;", &[1]), 4);
}

#[test]
fn products() {
    assert_eq!(eval("mul.lo.s64 %rd9, %rd0, %rd1;", &[A, B]), A.wrapping_mul(B));
    assert_eq!(eval("mul.hi.u64 %rd9, %rd0, %rd1;", &[A, B]), ((u128::from(A) * u128::from(B)) >> 64) as u64);
    let signed = ((i128::from(A as i64) * i128::from(B as i64)) >> 64) as u64;
    assert_eq!(eval("mul.hi.s64 %rd9, %rd0, %rd1;", &[A, B]), signed);
    assert_eq!(eval32("mul.hi.u32 %r9, %r0, %r1;", &[0xffff_ffff, 16]), 15);
    assert_eq!(eval32("mul.hi.s32 %r9, %r0, %r1;", &[0xffff_ffff, 16]), u32::MAX);
    assert_eq!(eval("mul.wide.u32 %rd9, %r0, %r1;", &[0xffff_ffff, 16]), 0xf_ffff_fff0);
    assert_eq!(eval("mul.wide.s32 %rd9, %r0, %r1;", &[0xffff_ffff, 16]), -16i64 as u64);
    assert_eq!(eval32("mul.wide.s16 %r9, -3, 5;", &[]), -15i32 as u32);
    assert_eq!(eval32("mad.lo.s32 %r9, %r0, %r1, %r2;", &[7, 6, 5]), 47);
    assert_eq!(eval("mad.lo.s64 %rd9, %rd0, 10000, %rd1;", &[3, 4]), 30004);
    assert_eq!(eval32("mad.hi.u32 %r9, %r0, %r1, 100;", &[0xffff_ffff, 16]), 115);
    assert_eq!(eval("mad.wide.u32 %rd9, %r0, %r1, %rd2;", &[0xffff_ffff, 2, 5]), 0x2_0000_0003);
    assert_eq!(eval32("mad.lo.cc.u32 %r4, %r0, %r1, %r2; madc.hi.u32 %r9, %r0, %r1, 0;", &[M1, M1, M1]), u32::MAX);
}

#[test]
fn quotients() {
    assert_eq!(eval("div.u64 %rd9, %rd0, %rd1;", &[A, B]), A / B);
    assert_eq!(eval("rem.u64 %rd9, %rd0, %rd1;", &[A, B]), A % B);
    assert_eq!(eval("div.s64 %rd9, %rd0, %rd1;", &[A, 10]), (A as i64 / 10) as u64);
    assert_eq!(eval("rem.s64 %rd9, %rd0, %rd1;", &[A, 10]), (A as i64 % 10) as u64);
    assert_eq!(eval32("rem.s32 %r9, %r0, 7;", &[-9i32 as u64]), -2i32 as u32);
    assert_eq!(eval32("div.u32 %r9, %r0, 7;", &[0xffff_fff7]), 0xffff_fff7 / 7);
    assert_eq!(eval32("div.s32 %r9, %r0, %r1;", &[0x8000_0000, 0xffff_ffff]), 0x8000_0000);
}

#[test]
fn bits() {
    assert_eq!(eval("and.b64 %rd9, %rd0, 4294967295;", &[A]), A & 0xffff_ffff);
    assert_eq!(eval("or.b64 %rd9, %rd0, %rd1;", &[A, B]), A | B);
    assert_eq!(eval32("xor.b32 %r9, %r0, 0xffU;", &[A]), A as u32 ^ 0xff);
    assert_eq!(eval32("not.b32 %r9, %r0;", &[A]), !(A as u32));
    assert_eq!(eval32("cnot.b32 %r9, %r0;", &[0]), 1);
    assert_eq!(eval("shl.b64 %rd9, %rd0, %r1;", &[A, 12]), A << 12);
    assert_eq!(eval("shl.b64 %rd9, %rd0, %r1;", &[A, 64]), 0);
    assert_eq!(eval32("shl.b32 %r9, %r0, 33;", &[A]), 0);
    assert_eq!(eval("shr.u64 %rd9, %rd0, %r1;", &[A, 63]), 1);
    assert_eq!(eval("shr.s64 %rd9, %rd0, %r1;", &[A, 200]), M1);
    assert_eq!(eval32("shr.s32 %r9, %r0, 4;", &[0x8000_0000]), 0xf800_0000);
    assert_eq!(eval32("shr.u32 %r9, %r0, 32;", &[0x8000_0000]), 0);
    assert_eq!(eval32("popc.b64 %r9, %rd0;", &[A]), A.count_ones());
    assert_eq!(eval32("clz.b64 %r9, %rd0;", &[B]), 7);
    assert_eq!(eval32("clz.b32 %r9, %r0;", &[0]), 32);
    assert_eq!(eval("brev.b64 %rd9, %rd0;", &[A]), A.reverse_bits());
    assert_eq!(eval32("brev.b32 %r9, %r0;", &[A]), (A as u32).reverse_bits());
    assert_eq!(eval32("bfe.u32 %r9, %r0, 8, 12;", &[A]), A as u32 >> 8 & 0xfff);
    assert_eq!(eval32("bfe.s32 %r9, %r0, 4, 4;", &[0x80]), 0xffff_fff8);
    assert_eq!(eval32("bfe.s32 %r9, %r0, 28, 16;", &[0x7000_0000]), 7);
    assert_eq!(eval32("bfe.s32 %r9, %r0, 40, 2;", &[0x8000_0000]), u32::MAX);
    assert_eq!(eval("bfe.u64 %rd9, %rd0, 60, 20;", &[A]), A >> 60);
    assert_eq!(eval("bfe.s64 %rd9, %rd0, 0, 64;", &[A]), A);
    assert_eq!(eval32("bfe.u32 %r9, %r0, 3, 0;", &[A]), 0);
    assert_eq!(eval32("bfi.b32 %r9, %r0, %r1, 8, 4;", &[0x1235, 0xffff_0000]), 0xffff_0500);
    assert_eq!(eval("bfi.b64 %rd9, %rd0, %rd1, 60, 10;", &[0xff, 3]), 0xf000_0000_0000_0003);
    assert_eq!(eval32("bfi.b32 %r9, %r0, %r1, 40, 4;", &[1, 2]), 2);
    assert_eq!(eval32("bfind.u32 %r9, %r0;", &[0x0101]), 8);
    assert_eq!(eval32("bfind.s32 %r9, %r0;", &[-257i32 as u64]), 8);
    assert_eq!(eval32("bfind.shiftamt.u64 %r9, %rd0;", &[1]), 63);
    assert_eq!(eval32("bfind.u32 %r9, %r0;", &[0]), u32::MAX);
    assert_eq!(eval32("prmt.b32 %r9, %r0, 0, 0x123U;", &[0x1122_3344]), 0x4433_2211);
    assert_eq!(eval32("prmt.b32 %r9, %r0, %r1, 0x7531;", &[0x1122_3344, 0x5566_7788]), 0x5577_1133);
    assert_eq!(eval32("prmt.b32 %r9, %r0, %r1, 0x008f;", &[0x1122_3380, 0x9566_7788]), 0x8080_ffff);
    assert_eq!(eval32("shf.l.wrap.b32 %r9, %r0, %r1, 36;", &[0x8765_4321, 0xabcd_ef01]), 0xbcde_f018);
    assert_eq!(eval32("shf.r.wrap.b32 %r9, %r0, %r1, 36;", &[0x8765_4321, 0xabcd_ef01]), 0x1876_5432);
    assert_eq!(eval32("shf.l.clamp.b32 %r9, %r0, %r1, 36;", &[0x8765_4321, 0xabcd_ef01]), 0x8765_4321);
    assert_eq!(eval32("shf.r.clamp.b32 %r9, %r0, %r1, 36;", &[0x8765_4321, 0xabcd_ef01]), 0xabcd_ef01);
    let (a, b, c) = (0xf0f0_1234u32, 0xcccc_5678, 0xaaaa_9abc);
    let three = [u64::from(a), u64::from(b), u64::from(c)];
    assert_eq!(eval32("lop3.b32 %r9, %r0, %r1, %r2, 0x96;", &three), a ^ b ^ c);
    assert_eq!(eval32("lop3.b32 %r9, %r0, %r1, %r2, 0xe4;", &three), (a & c) | (b & !c));
}

#[test]
fn least_and_greatest() {
    assert_eq!(eval("min.u64 %rd9, %rd0, %rd1;", &[A, B]), B);
    assert_eq!(eval("min.s64 %rd9, %rd0, %rd1;", &[A, B]), A);
    assert_eq!(eval32("max.u32 %r9, %r0, %r1;", &[M1, 1]), u32::MAX);
    assert_eq!(eval32("max.s32 %r9, %r0, %r1;", &[M1, 1]), 1);
    assert_eq!(eval32("neg.s32 %r9, %r0;", &[1]), u32::MAX);
    assert_eq!(eval32("abs.s32 %r9, %r0;", &[-7i32 as u64]), 7);
}

#[test]
fn comparisons_and_selections() {
    let cases: [(&str, u64, u64, bool); 14] = [
        ("eq.b32", 1 << 32, 0, true),
        ("ne.b64", 1 << 32, 0, true),
        ("lt.s32", M1, 0, true),
        ("lt.u32", M1, 0, false),
        ("le.s64", 5, 5, true),
        ("gt.s64", M1, 0, false),
        ("gt.u64", M1, 0, true),
        ("ge.u32", 4, 5, false),
        ("lo.s32", M1, 0, false),
        ("hi.u32", M1, 0, true),
        ("ls.u32", 3, 3, true),
        ("hs.u32", 2, 3, false),
        ("lt.s16", 0x8000, 1, true),
        ("lt.u16", 0x8000, 1, false),
    ];
    for (how, a, b, expected) in cases {
        let r = if how.ends_with("64") { "%rd" } else { "%r" };
        let body = format!("setp.{how} %p1|%p2, {r}0, {r}1; selp.b64 %rd4, 1, 0, %p1; selp.b64 %rd9, 2, %rd4, %p2;");
        assert_eq!(eval(&body, &[a, b]), if expected { 1 } else { 2 }, "{how}");
    }
    let joined = |how: &str, c: &str, input: [u64; 4]| {
        let body = "setp.ne.b32 %p3, %r2, 0; setp.eq.HOW.b32 %p1, %r0, %r1, C; selp.b64 %rd9, 1, 0, %p1;";
        eval(&body.replace("HOW", how).replace(", C", &format!(", {c}")), &input)
    };
    assert_eq!(joined("and", "%p3", [1, 1, 1, 0]), 1);
    assert_eq!(joined("and", "!%p3", [1, 1, 1, 0]), 0);
    assert_eq!(joined("or", "%p3", [1, 2, 1, 0]), 1);
    assert_eq!(joined("or", "!%p3", [1, 2, 1, 0]), 0);
    assert_eq!(joined("xor", "%p3", [1, 1, 1, 0]), 0);
    assert_eq!(eval32("set.lt.u32.s32 %r9, %r0, 0;", &[M1]), u32::MAX);
    assert_eq!(eval32("set.eq.f32.u32 %r9, %r0, 5;", &[5]), 1f32.to_bits());
    let predicates = "setp.eq.b32 %p1, 1, 1; setp.eq.b32 %p2, 1, 2; not.pred %p3, %p2; and.pred %p4, %p1, %p3;
        xor.pred %p5, %p4, %p1; or.pred %p6, %p5, %p2; mov.pred %p7, %p4;
        @%p6 bra $bad; @!%p7 bra $bad; mov.b64 %rd9, 1; bra.uni $end; $bad: mov.b64 %rd9, 2; $end:";
    assert_eq!(eval(predicates, &[]), 1);
    assert_eq!(eval("mov.b64 %rd9, 1; setp.eq.b32 %p1, %r0, 0; @%p1 mov.b64 %rd9, 2;", &[1]), 1);
}

#[test]
fn conversions_and_parts() {
    assert_eq!(eval("cvt.s64.s8 %rd9, %rd0;", &[0x1ff80]), -128i64 as u64);
    assert_eq!(eval("cvt.u64.u8 %rd9, %rd0;", &[0x1ff80]), 0x80);
    assert_eq!(eval("cvt.s64.s32 %rd9, %r0;", &[0x8000_0000]), 0xffff_ffff_8000_0000);
    assert_eq!(eval("cvt.u16.u64 %rs1, %rd0; cvt.u64.u16 %rd9, %rs1;", &[0x12345]), 0x2345);
    // A narrow signed result is sign-extended to its wider register.
    assert_eq!(eval32("cvt.s8.s32 %r9, %r0;", &[0x80]), 0xffff_ff80);
    assert_eq!(eval("mov.b64 {%r5, %r6}, %rd0; mov.b64 %rd9, {%r6, %r5};", &[A]), A.rotate_left(32));
    assert_eq!(eval("mov.b64 {_, %r6}, %rd0; cvt.u64.u32 %rd9, %r6;", &[A]), A >> 32);
    assert_eq!(eval32("mov.b32 {%rs1, %rs2}, %r0; mov.b32 %r9, {%rs2, %rs1};", &[A]), (A as u32).rotate_left(16));
    assert_eq!(eval("mov.b64 {%rs1,%rs2,%rs3,%rs4}, %rd0; cvt.u64.u16 %rd9, %rs3;", &[A]), A >> 32 & 0xffff);
    let wide =
        "mov.b128 %rq0, {%rd0, %rd1}; mov.b128 %rq1, %rq0; mov.b128 {%rd1, %rd0}, %rq1; sub.s64 %rd9, %rd0, %rd1;";
    assert_eq!(eval(wide, &[A, B]), B.wrapping_sub(A));
    assert_eq!(eval("mov.b64 %rd9, 0b101; add.s64 %rd9, %rd9, 017;", &[]), 20);
}

#[test]
fn floats() {
    let f = |x: f32| u64::from(x.to_bits());
    let d = f64::to_bits;
    assert_eq!(eval32("add.rn.f32 %r9, %r0, 0f3f800000;", &[f(2.5)]), 3.5f32.to_bits());
    assert_eq!(eval("div.rn.f64 %rd9, %rd0, %rd1;", &[d(1.0), d(3.0)]), (1.0f64 / 3.0).to_bits());
    assert_eq!(
        eval32("fma.rn.f32 %r9, %r0, %r1, %r2;", &[f(1.1), f(1.3), f(-1.43)]),
        1.1f32.mul_add(1.3, -1.43).to_bits()
    );
    assert_eq!(
        eval("sub.f64 %rd4, %rd0, 0d3FF0000000000000; neg.f64 %rd4, %rd4; abs.f64 %rd9, %rd4;", &[d(3.5)]),
        d(2.5)
    );
    assert_eq!(eval("sqrt.rn.f64 %rd9, %rd0;", &[d(2.0)]), 2f64.sqrt().to_bits());
    assert_eq!(eval32("max.f32 %r9, %r0, %r1;", &[f(-1.0), f(-2.0)]), (-1f32).to_bits());
    assert_eq!(eval32("cvt.rn.f32.u32 %r9, %r0;", &[u64::from(u32::MAX)]), (u32::MAX as f32).to_bits());
    assert_eq!(eval("cvt.rn.f64.s64 %rd9, %rd0;", &[M1]), d(-1.0));
    assert_eq!(eval("cvt.rzi.u64.f64 %rd9, %rd0;", &[d(1e300)]), M1);
    assert_eq!(eval32("cvt.rzi.s32.f32 %r9, %r0;", &[f(-2.75)]), -2i32 as u32);
    assert_eq!(eval32("cvt.rni.s32.f32 %r9, %r0;", &[f(2.5)]), 2);
    assert_eq!(eval32("cvt.rpi.s32.f32 %r9, %r0;", &[f(2.25)]), 3);
    assert_eq!(eval32("cvt.rmi.f32.f32 %r9, %r0;", &[f(-2.25)]), (-3f32).to_bits());
    assert_eq!(eval32("cvt.rzi.s8.f32 %r9, %r0;", &[f(300.0)]) & 0xff, 127);
    assert_eq!(eval("cvt.f64.f32 %rd9, %r0;", &[f(1.5)]), d(1.5));
    assert_eq!(eval32("cvt.rn.f32.f64 %r9, %rd0;", &[d(0.1)]), 0.1f32.to_bits());
    let compare = |how: &str, a: f64, b: f64| {
        eval(&format!("setp.{how}.f64 %p1, %rd0, %rd1; selp.b64 %rd9, 1, 0, %p1;"), &[d(a), d(b)])
    };
    let results = ["lt", "gtu", "neu", "num", "nan"].map(|how| (compare(how, 1.0, 2.0), compare(how, f64::NAN, 2.0)));
    assert_eq!(results, [(1, 0), (0, 1), (1, 1), (1, 0), (0, 1)]);
}
