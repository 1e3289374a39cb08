//! x
mod accuracy;
fn main() {
    let cases: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let t = std::time::Instant::now();
    let a = accuracy::measure(&warpnest::Device::cpu(), 1000, cases, 5).unwrap();
    for r in &a.rates {
        println!("{:?} {} {:?}", r.axis, r.value, r.found);
    }
    println!("claimed {} of {}, mistaken {} of {}; {:?}", a.claimed, a.without, a.mistaken, a.with, t.elapsed());
}
