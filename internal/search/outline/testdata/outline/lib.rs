//! fn docs() {}
#![allow(dead_code)]
use std::fmt::{self, Display};

pub const LIMIT: usize = 10;
const PRIVATE: char = '{';
pub(crate) static NAME: &'static str = "fn a() {";
pub mod nested {
    pub fn inside<'a>(x: &'a str) -> &'a str { x }
}
mod file;

#[derive(Debug, Clone)]
pub struct Point<T = i32> where T: Copy { x: T, y: T }
struct Unit;
struct Pair(u8, u8);
pub enum Shape { Circle { r: f64 }, Square(f64) }
type Alias<T> = Result<T, Box<dyn std::error::Error>>;

pub trait Area: Display {
    const SIDES: u32;
    fn area(&self) -> f64;
    fn name(&self) -> String { String::from(r#"a "quoted" } name"#) }
}

impl<T: Copy> Point<T> {
    pub const fn new(x: T, y: T) -> Self { Self { x, y } }
    pub async unsafe fn go<F>(&self, f: F) -> u8
    where
        F: Fn(u8) -> u8,
    {
        /* nested /* comment { */ */
        fn inner() {}
        match 'x' { '\'' => 1, '\u{7d}' => 2, _ => f(3) }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{{") }
}

macro_rules! square {
    ($x:expr) => { $x * $x };
}

pub extern "C" fn exported(cb: fn(i32) -> i32) {}
