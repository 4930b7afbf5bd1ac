//! What divan counts beside time: accepted, without effect.

pub trait Counter: Sized {}

macro_rules! counters {
    ($($name:ident)*) => {
        $(
            #[derive(Clone, Copy, Debug)]
            pub struct $name(());

            impl Counter for $name {}

            impl $name {
                pub fn new<N>(_: N) -> Self {
                    Self(())
                }
            }

            impl<N: Into<u64>> From<N> for $name {
                fn from(_: N) -> Self {
                    Self(())
                }
            }
        )*
    };
}

counters! { BytesCount CharsCount CyclesCount ItemsCount }

impl BytesCount {
    pub const fn of<T>() -> Self {
        Self(())
    }

    pub const fn of_many<T>(_: usize) -> Self {
        Self(())
    }

    pub fn of_val<T: ?Sized>(_: &T) -> Self {
        Self(())
    }

    pub fn of_iter<T, I: IntoIterator<Item = T>>(_: I) -> Self {
        Self(())
    }

    pub fn of_str<S: ?Sized + AsRef<str>>(_: &S) -> Self {
        Self(())
    }

    pub fn of_slice<T, S: ?Sized + AsRef<[T]>>(_: &S) -> Self {
        Self(())
    }

    pub const fn u8(_: usize) -> Self {
        Self(())
    }
}

impl CharsCount {
    pub fn of_str<S: ?Sized + AsRef<str>>(_: &S) -> Self {
        Self(())
    }
}

impl ItemsCount {
    pub fn of_iter<T, I: IntoIterator<Item = T>>(_: I) -> Self {
        Self(())
    }
}
