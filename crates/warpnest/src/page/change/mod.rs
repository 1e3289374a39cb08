//! Batches of changes. [`batch`] chooses: a build, a larger table beside the old one ([`grow`]), or
//! a change [`in_place`], which goes to pairs directly ([`direct`]) or rewrites pages
//! ([`rewrite`]).

mod batch;
mod direct;
mod grow;
mod in_place;
mod rewrite;
