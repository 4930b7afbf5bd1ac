//! Values of primitive types and of the standard library.

use super::kinds::{Kind, is_integer, is_number};
use super::literals::Literal;
use super::value::{Borrows, Make, Size, Value, Wish};

/// Default text if none of the crate's strings is known to fit.
const TEXT: &str = "the quick brown fox";

/// Types with a constant expression.
const SIMPLE: [(&str, &str); 39] = [
    ("time::Duration", "std::time::Duration::from_millis(1500)"),
    ("time::Instant", "std::time::Instant::now()"),
    ("time::SystemTime", "(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000))"),
    ("cmp::Ordering", "std::cmp::Ordering::Less"),
    ("fmt::Error", "std::fmt::Error"),
    ("fmt::Alignment", "std::fmt::Alignment::Left"),
    ("io::Error", "std::io::Error::new(std::io::ErrorKind::Other, \"other\")"),
    ("io::ErrorKind", "std::io::ErrorKind::Other"),
    ("io::SeekFrom", "std::io::SeekFrom::Start(1)"),
    ("io::Empty", "std::io::empty()"),
    ("io::Sink", "std::io::sink()"),
    ("any::TypeId", "std::any::TypeId::of::<u64>()"),
    ("ops::RangeFull", ".."),
    ("marker::PhantomData", "std::marker::PhantomData"),
    ("marker::PhantomPinned", "std::marker::PhantomPinned"),
    ("alloc::Layout", "std::alloc::Layout::new::<u64>()"),
    ("collections::hash_map::DefaultHasher", "std::collections::hash_map::DefaultHasher::new()"),
    ("hash::DefaultHasher", "std::collections::hash_map::DefaultHasher::new()"),
    ("hash::BuildHasherDefault", "std::default::Default::default()"),
    ("hash::RandomState", "std::default::Default::default()"),
    ("collections::hash_map::RandomState", "std::default::Default::default()"),
    ("net::Ipv4Addr", "std::net::Ipv4Addr::new(192, 168, 0, 1)"),
    ("net::Ipv6Addr", "std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)"),
    ("net::IpAddr", "std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 0, 1))"),
    ("net::SocketAddr", "std::net::SocketAddr::from(([192, 168, 0, 1], 80))"),
    ("num::ParseIntError", "\"x\".parse::<u32>().unwrap_err()"),
    ("num::ParseFloatError", "\"x\".parse::<f64>().unwrap_err()"),
    ("str::Utf8Error", "std::string::String::from_utf8(std::vec![0xff]).unwrap_err().utf8_error()"),
    ("string::FromUtf8Error", "std::string::String::from_utf8(std::vec![0xff]).unwrap_err()"),
    ("char::ParseCharError", "\"xx\".parse::<char>().unwrap_err()"),
    ("num::TryFromIntError", "<u8 as std::convert::TryFrom<u32>>::try_from(300).unwrap_err()"),
    ("array::TryFromSliceError", "<[u8; 2] as std::convert::TryFrom<&[u8]>>::try_from(&[1]).unwrap_err()"),
    ("process::ExitCode", "std::process::ExitCode::SUCCESS"),
    ("ffi::CString", "std::ffi::CString::new(\"text\").unwrap()"),
    ("convert::Infallible", "std::unreachable!()"),
    ("str::Chars", "\"the quick brown fox\".chars()"),
    ("str::CharIndices", "\"the quick brown fox\".char_indices()"),
    ("str::Bytes", "\"the quick brown fox\".bytes()"),
    ("str::Lines", "\"the quick\\nbrown fox\".lines()"),
];

/// Types that wrap one value, and their constructors.
const WRAPPERS: [(&str, &str); 20] = [
    ("boxed::Box", "std::boxed::Box::new"),
    ("rc::Rc", "std::rc::Rc::new"),
    ("sync::Arc", "std::sync::Arc::new"),
    ("cell::Cell", "std::cell::Cell::new"),
    ("cell::RefCell", "std::cell::RefCell::new"),
    ("cell::UnsafeCell", "std::cell::UnsafeCell::new"),
    ("sync::Mutex", "std::sync::Mutex::new"),
    ("sync::RwLock", "std::sync::RwLock::new"),
    ("num::Wrapping", "std::num::Wrapping"),
    ("cmp::Reverse", "std::cmp::Reverse"),
    ("mem::ManuallyDrop", "std::mem::ManuallyDrop::new"),
    ("mem::MaybeUninit", "std::mem::MaybeUninit::new"),
    ("future::Ready", "std::future::ready"),
    ("io::Cursor", "std::io::Cursor::new"),
    ("io::BufReader", "std::io::BufReader::new"),
    ("io::BufWriter", "std::io::BufWriter::new"),
    ("ops::Bound", "std::ops::Bound::Included"),
    ("pin::Pin", "std::pin::Pin::new"),
    ("task::Poll", "std::task::Poll::Ready"),
    ("iter::Peekable", "std::iter::Iterator::peekable"),
];

/// Collections that an iterator fills.
const COLLECTIONS: [&str; 8] = [
    "vec::Vec",
    "collections::VecDeque",
    "collections::LinkedList",
    "collections::BinaryHeap",
    "collections::HashSet",
    "collections::BTreeSet",
    "collections::HashMap",
    "collections::BTreeMap",
];

pub fn primitive(name: &str, wish: &Wish<'_>, passed: &[Literal]) -> Vec<Value> {
    if name == "str" {
        return Vec::new();
    }
    let literals = passed.iter().filter_map(|literal| match literal {
        Literal::Integer(digits) if is_integer(name) && fits(digits, name) => Some(digits.clone()),
        Literal::Integer(digits) if name.starts_with('f') => Some(format!("{digits}.0")),
        Literal::Float(digits) if name.starts_with('f') => Some(digits.clone()),
        Literal::Char(character) if name == "char" => Some(format!("{character:?}")),
        Literal::Char(character) if name == "u8" && character.is_ascii() => Some(format!("b{character:?}")),
        _ => None,
    });
    let mut literals: Vec<Value> = literals
        .take(3)
        .map(|code| Value::plain(if is_integer(name) { format!("{code}{name}") } else { code }))
        .collect();
    let own = match name {
        "bool" if wish.is_element => vec![Value::plain("(i % 2 == 0)")],
        "bool" => vec![Value::plain("true"), Value::plain("false")],
        "char" if wish.is_element => vec![Value::plain("char::from(b'a' + (i % 26) as u8)")],
        "char" => vec![Value::plain("'a'")],
        "usize" if is_position(wish.name) && wish.is_element => vec![Value::plain("0usize")],
        "usize" if wish.is_element => vec![Value::plain("(i % 251)")],
        "usize" if is_position(wish.name) => vec![Value::sized(format!("({} / 2)", wish.size.print()), wish.size)],
        "usize" => vec![Value::sized(format!("({} as usize)", wish.size.print()), wish.size), Value::plain("3usize")],
        "f32" | "f64" if wish.is_element => vec![Value::plain(format!("(i as {name} * 1.25)"))],
        "f32" | "f64" => vec![Value::plain(format!("3.75{name}"))],
        "u8" | "i8" if wish.is_element => vec![Value::plain(format!("((i % 100) as {name})"))],
        _ if wish.is_element => vec![Value::plain(format!("((i % 1000) as {name})"))],
        "u8" => vec![Value::plain("b'a'"), Value::plain("7u8")],
        "i8" => vec![Value::plain("7i8")],
        _ => vec![Value::plain(format!("12345{name}")), Value::plain(format!("7{name}"))],
    };
    if wish.is_element {
        return own;
    }
    let is_size = name == "usize";
    literals.extend(own);
    if is_size {
        literals.sort_by_key(|value| !value.is_sized);
    }
    literals
}

fn fits(digits: &str, name: &str) -> bool {
    let Ok(number) = digits.parse::<u128>() else { return false };
    let size: u32 = name[1..].parse().unwrap_or(usize::BITS);
    let bits = if name.starts_with('i') { size - 1 } else { size };
    bits >= 128 || number < 1 << bits
}

fn is_position(name: &str) -> bool {
    ["index", "idx", "i", "at", "pos", "position", "offset", "start", "from", "mid"].contains(&name)
        || ["_index", "_idx", "_offset", "_pos"].iter().any(|end| name.ends_with(end))
}

/// Builds owned strings, the first of the wanted size.
fn strings(make: &dyn Make, wish: &Wish<'_>) -> Vec<Value> {
    if wish.is_element {
        return vec![Value::plain("std::format!(\"key{}\", i)")];
    }
    let mut texts = make.texts(wish);
    if texts.is_empty() {
        texts.push(TEXT.to_owned());
    }
    let plain = |text: &String| Value::plain(format!("std::string::String::from({text:?})"));
    let long = |text: &&String| {
        let count = text.len().max(1);
        let code = format!("std::string::String::from({text:?}).repeat({} / {count} + 1)", wish.size.print());
        Value::sized(code, wish.size)
    };
    let mut found = Vec::new();
    for text in texts.iter().filter(|text| !text.is_empty()).take(2) {
        found.extend([long(&text), plain(text)]);
    }
    found.extend(texts.iter().skip(2).take(2).map(plain));
    found
}

/// Builds `&str` and similar references; a literal lives long enough for everything.
pub fn build_borrowed(make: &dyn Make, to: &Kind, wish: &Wish<'_>, is_static: bool) -> Option<Vec<Value>> {
    let lend = |values: Vec<Value>, method: &str| {
        let held = values.into_iter().map(|value| {
            let mut value = value.held(make.fresh().name(wish.name), false);
            value.code = format!("{}{method}", value.code);
            value.borrows = true;
            value
        });
        held.collect::<Vec<_>>()
    };
    let literals = || {
        let mut texts = make.texts(wish);
        texts.push(TEXT.to_owned());
        texts.truncate(3);
        texts
    };
    match to {
        Kind::Primitive(name) if name == "str" => {
            let plain = literals().into_iter().map(|text| Value::plain(format!("{text:?}")));
            if is_static || wish.is_element {
                return Some(plain.collect());
            }
            let mut found = lend(strings(make, wish), ".as_str()");
            let at = found.len().min(1);
            found.splice(at..at, plain);
            Some(found)
        }
        Kind::Slice(of) if **of == Kind::primitive("u8") => {
            let plain = literals().into_iter().map(|text| Value::plain(format!("{text:?}.as_bytes()")));
            if is_static || wish.is_element {
                return Some(plain.collect());
            }
            let bytes = Kind::std("vec::Vec", vec![(**of).clone()]);
            let mut found = lend(make.make(&bytes, wish), ".as_slice()");
            let at = found.len().min(1);
            found.splice(at..at, plain);
            Some(found)
        }
        Kind::Slice(of) if !is_static => {
            Some(lend(make.make(&Kind::std("vec::Vec", vec![(**of).clone()]), wish), ".as_slice()"))
        }
        Kind::Std { path, .. } if path == "path::Path" => {
            Some(vec![Value::plain("std::path::Path::new(\"folder/file.txt\")")])
        }
        Kind::Std { path, .. } if path == "ffi::OsStr" => Some(vec![Value::plain("std::ffi::OsStr::new(\"text\")")]),
        Kind::Std { path, .. } if path == "ffi::CStr" => {
            let code = "std::ffi::CStr::from_bytes_with_nul(b\"text\\0\").unwrap()";
            Some(vec![Value::plain(code)])
        }
        _ => None,
    }
}

pub fn build_owned(make: &dyn Make, path: &str, arguments: &[Kind], wish: &Wish<'_>) -> Vec<Value> {
    if let Some((_, code)) = SIMPLE.iter().find(|(known, _)| *known == path) {
        return vec![Value::plain(*code)];
    }
    if path.starts_with("num::NonZero") {
        return vec![Value::plain(format!("std::{path}::new(7).unwrap()"))];
    }
    if path.starts_with("sync::atomic::Atomic") {
        let value = if path.ends_with("Bool") { "true" } else { "7" };
        return vec![Value::plain(format!("std::{path}::new({value})"))];
    }
    let call = |function: &str, inner: &Kind| {
        let values = make.make(inner, wish).into_iter();
        let calls = values
            .map(|value| Value::of(vec![value], Borrows::LikeItsParts, |codes| format!("{function}({})", codes[0])));
        calls.collect::<Vec<_>>()
    };
    match (path, arguments) {
        ("string::String", _) => strings(make, wish),
        ("vec::Vec" | "boxed::Box", [Kind::Primitive(of)]) if path == "vec::Vec" && of == "u8" && !wish.is_element => {
            bytes(make, wish)
        }
        ("path::PathBuf", _) => vec![Value::plain("std::path::PathBuf::from(\"folder/file.txt\")")],
        ("ffi::OsString", _) => vec![Value::plain("std::ffi::OsString::from(\"text\")")],
        ("boxed::Box" | "rc::Rc" | "sync::Arc", [Kind::Primitive(of)]) if of == "str" => {
            let texts = strings(make, wish).into_iter();
            texts.map(|text| Value { code: format!("std::{path}::<str>::from({})", text.code), ..text }).collect()
        }
        ("boxed::Box" | "rc::Rc" | "sync::Arc", [Kind::Slice(of)]) => {
            let list = Kind::std("vec::Vec", vec![(**of).clone()]);
            let lists = make.make(&list, wish).into_iter();
            lists
                .map(|list| {
                    Value::of(vec![list], Borrows::LikeItsParts, |codes| {
                        format!("std::convert::Into::into({})", codes[0])
                    })
                })
                .collect()
        }
        ("borrow::Cow", [of]) => {
            let is_static = wish.is_element || wish.size == Size::Few;
            let borrowed = Kind::Reference { is_mutable: false, is_static, to: Box::new(of.clone()) };
            call("std::borrow::Cow::Borrowed", &borrowed)
        }
        ("option::Option", [of]) => {
            let mut found = call("std::option::Option::Some", of);
            found.truncate(3);
            found.push(Value::plain("std::option::Option::None"));
            found
        }
        ("result::Result", [of, ..]) => call("std::result::Result::Ok", of),
        ("vec::IntoIter", [of]) => {
            let lists = make.make(&Kind::std("vec::Vec", vec![of.clone()]), wish).into_iter();
            let iterate = |codes: &[String]| format!("std::iter::IntoIterator::into_iter({})", codes[0]);
            lists.map(|list| Value::of(vec![list], Borrows::LikeItsParts, iterate)).collect()
        }
        ("ops::Range" | "ops::RangeInclusive", [of]) => ranges(path, of, wish),
        ("ops::RangeFrom", [_]) => vec![Value::plain("(1..)")],
        ("ops::RangeTo", [_]) => vec![Value::sized(format!("(..{} / 2)", wish.size.print()), wish.size)],
        (_, arguments) if COLLECTIONS.contains(&path) => collection(make, path, arguments, wish),
        (_, [of, ..]) => {
            let Some((_, function)) = WRAPPERS.iter().find(|(known, _)| *known == path) else { return Vec::new() };
            call(function, of)
        }
        _ => Vec::new(),
    }
}

fn ranges(path: &str, of: &Kind, wish: &Wish<'_>) -> Vec<Value> {
    let sign = if path == "ops::Range" { ".." } else { "..=" };
    match of {
        Kind::Primitive(name) if name == "usize" => {
            let n = wish.size.print();
            vec![Value::sized(format!("({n} / 4{sign}{n} / 2)"), wish.size), Value::plain(format!("(0{sign}1)"))]
        }
        Kind::Primitive(name) if name == "char" => vec![Value::plain(format!("('a'{sign}'z')"))],
        Kind::Primitive(name) if name.starts_with('f') => vec![Value::plain(format!("(0.0{name}{sign}7.0{name})"))],
        Kind::Primitive(name) => vec![Value::plain(format!("(0{name}{sign}7{name})"))],
        _ => Vec::new(),
    }
}

fn bytes(make: &dyn Make, wish: &Wish<'_>) -> Vec<Value> {
    let texts = strings(make, wish).into_iter();
    let mut found: Vec<Value> =
        texts.map(|text| Value { code: format!("{}.into_bytes()", text.code), ..text }).collect();
    let code = format!("(0..{}).map(|i| (i % 251) as u8).collect::<std::vec::Vec<u8>>()", wish.size.print());
    found.insert(found.len().min(2), Value::sized(code, wish.size));
    found
}

fn collection(make: &dyn Make, path: &str, arguments: &[Kind], wish: &Wish<'_>) -> Vec<Value> {
    let element = match arguments {
        [key, value, ..] if path.ends_with("Map") => Kind::Tuple(vec![key.clone(), value.clone()]),
        [of, ..] => of.clone(),
        [] => return Vec::new(),
    };
    let elements =
        make.make(&element, &wish.element()).into_iter().filter(|value| !value.borrows && value.lets.is_empty());
    let filled = elements.map(|element| {
        let code = format!(
            "std::iter::Iterator::collect::<std::{path}<{}>>((0..{}).map(|i: usize| {}))",
            vec!["_"; if path.ends_with("Map") { 2 } else { 1 }].join(", "),
            wish.size.print(),
            element.code
        );
        Value::sized(code, wish.size)
    });
    let mut found: Vec<Value> = filled.take(2).collect();
    if found.is_empty() {
        // A single element if elements borrow.
        let one = make.make(&element, &wish.few()).into_iter().take(1);
        found.extend(one.map(|element| {
            Value::of(vec![element], Borrows::LikeItsParts, |codes| {
                format!("std::iter::Iterator::collect::<std::{path}<_>>(std::iter::once({}))", codes[0])
            })
        }));
        if path.ends_with("Map") {
            found.clear();
        }
        found.push(Value::plain(format!("std::{path}::new()")));
    }
    found
}

/// Builds a reference to a constant, which lives as long as the program.
pub fn lasting(to: &Kind) -> Vec<Value> {
    match to {
        Kind::Array { of, length } => match (&**of, &**length) {
            (Kind::Primitive(name), Kind::Constant(length)) if is_number(name) => {
                vec![Value::plain(format!("&[97 as {name}; {length}]"))]
            }
            _ => Vec::new(),
        },
        Kind::Primitive(name) if is_number(name) => vec![Value::plain(format!("&(97 as {name})"))],
        _ => Vec::new(),
    }
}
