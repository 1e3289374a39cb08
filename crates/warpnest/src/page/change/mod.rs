//! Batches of changes. [`batch`] chooses between a build, a larger table beside the old one
//! ([`grow`]), and a change [`in_place`]. A change in place changes pairs directly ([`direct`]) or
//! rewrites pages ([`rewrite`]).

mod batch;
mod direct;
mod grow;
mod in_place;
mod rewrite;
