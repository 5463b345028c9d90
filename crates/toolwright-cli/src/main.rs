//! tmp
mod args;
mod code;
mod diagnostic;
mod exit;
mod input;
mod output;
mod paths;
mod secret;
mod style;
mod trust;
mod config { 
 pub(crate) mod expand; 
 pub(crate) mod units; 
 pub(crate) mod yaml; 
}
fn main(){}
