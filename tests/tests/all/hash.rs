//! The formulas of the hash functions: exact division, slots within the table, and the collisions
//! of each formula.

use gpu_kernels::hash::{Divisor, Formula, HashFunctions, NO_SLOT};

#[test]
fn remainders_are_exact_for_all_sizes_of_divisor() {
    let edges = [0, 1, 2, 3, 5, 0xffff, 0x1_0000, u32::MAX as u64, 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX];
    for d in [1, 2, 3, 7, 334_214_459, 4_294_967_291, u32::MAX, 1 << 31, (1 << 31) - 1] {
        let divisor = Divisor::new(d);
        for x in edges.iter().flat_map(|&x| [x, x.wrapping_mul(d as u64), x.wrapping_mul(d as u64).wrapping_sub(1)]) {
            assert_eq!(divisor.remainder(x), x % d as u64, "{x} mod {d}");
            assert_eq!(divisor.divided(x), (x / d as u64, x % d as u64), "{x} by {d}");
        }
    }
}

#[test]
fn every_function_stays_inside_the_table() {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed ^ seed >> 29
    };
    for formula in [Formula::Mix, Formula::Linear, Formula::LinearWrapping, Formula::Xor, Formula::XorWrapping] {
        for slots in [1, 2, 17, 1 << 20, u32::MAX] {
            for prime in [2, 334_214_459, 4_294_967_291] {
                for i in 0..64u64 {
                    let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let narrow = HashFunctions::new(formula, 5, slots, prime, 32, &mut random);
                    assert!(narrow.slots_of(key as u32).iter().all(|&s| s < slots));
                    let wide = HashFunctions::new(formula, 4, slots, prime, 64, &mut random);
                    assert!(wide.slots_of(key)[..4].iter().all(|&s| s < slots));
                    assert_eq!(wide.slots_of(key)[4], NO_SLOT);
                }
            }
        }
    }
}

#[test]
fn keys_that_agree_modulo_the_prime_share_their_slots_under_the_exact_linear_form() {
    let functions = HashFunctions::new(Formula::Linear, 4, 1000, 334_214_459, 32, || 0x1234_5678_9abc_def1);
    for k in 0..100u32 {
        assert_eq!(functions.slots_of(k), functions.slots_of(k + 334_214_459));
    }
}
