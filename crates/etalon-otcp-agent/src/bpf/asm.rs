// SPDX-License-Identifier: MIT OR Apache-2.0
//! A typed assembler for BPF: the few instructions that the program needs (Linux, `Documentation/bpf/standardization`).
//!
//! It stands for a compiler: the agent has its program in readable source without clang, at build and at run time. The
//! kernel's verifier checks what comes out.

/// Registers: R0 holds results, R1 to R5 arguments (lost by a call), R6 to R9 are kept, R10 is the frame's end.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Width of a load or store.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub enum Size {
    U8 = 0x10,
    U32 = 0x00,
    U64 = 0x18,
}

/// Comparisons of 32 bits of a register with a constant.
#[derive(Clone, Copy, Debug)]
pub enum If {
    /// Equal.
    Eq = 0x10,
    /// Not equal.
    Ne = 0x50,
    /// Greater, unsigned.
    Gt = 0x20,
}

/// A place in the program that jumps name.
#[derive(Clone, Copy, Debug)]
pub struct Label(usize);

const CLASS_LOAD_IMMEDIATE: u8 = 0x18;
const CLASS_LOAD: u8 = 0x61;
const CLASS_STORE_CONSTANT: u8 = 0x62;
const CLASS_STORE: u8 = 0x63;
const ATOMIC_ADD_U64: u8 = 0xdb;
const JUMP: u8 = 0x05;
const JUMP_IF_NOT_SAME: u8 = 0x5d;
const JUMP_IF_ZERO: u8 = 0x15;
const JUMP_32: u8 = 0x06;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const ADD: u8 = 0x0f;
const ADD_CONSTANT: u8 = 0x07;
const OR: u8 = 0x4f;
const SHIFT_LEFT: u8 = 0x67;
/// The constant of a wide load is a map's descriptor.
const PSEUDO_MAP: u8 = 1;

/// A program in the making.
#[derive(Debug, Default)]
pub struct Asm {
    code: Vec<[u8; 8]>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Asm {
    fn put(&mut self, op: u8, to: Reg, from: u8, offset: i16, constant: i32) -> &mut Self {
        let [o0, o1] = offset.to_ne_bytes();
        let [c0, c1, c2, c3] = constant.to_ne_bytes();
        self.code
            .push([op, registers(to as u8, from), o0, o1, c0, c1, c2, c3]);
        self
    }

    /// A label to be placed later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here.
    pub fn place(&mut self, label: Label) -> &mut Self {
        self.labels[label.0] = Some(self.code.len());
        self
    }

    /// `to = from`.
    pub fn mov(&mut self, to: Reg, from: Reg) -> &mut Self {
        self.put(MOVE, to, from as u8, 0, 0)
    }

    /// `to = constant`.
    pub fn set(&mut self, to: Reg, constant: i32) -> &mut Self {
        self.put(MOVE_CONSTANT, to, 0, 0, constant)
    }

    /// `to = constant`, of 64 bits.
    pub fn set_u64(&mut self, to: Reg, constant: u64) -> &mut Self {
        self.put(CLASS_LOAD_IMMEDIATE, to, 0, 0, constant as i32);
        self.put(0, Reg::R0, 0, 0, (constant >> 32) as i32)
    }

    /// `to = map`.
    pub fn set_map(&mut self, to: Reg, fd: i32) -> &mut Self {
        self.put(CLASS_LOAD_IMMEDIATE, to, PSEUDO_MAP, 0, fd);
        self.put(0, Reg::R0, 0, 0, 0)
    }

    /// `to += from`.
    pub fn add(&mut self, to: Reg, from: Reg) -> &mut Self {
        self.put(ADD, to, from as u8, 0, 0)
    }

    /// `to += constant`.
    pub fn add_constant(&mut self, to: Reg, constant: i32) -> &mut Self {
        self.put(ADD_CONSTANT, to, 0, 0, constant)
    }

    /// `to |= from`.
    pub fn or(&mut self, to: Reg, from: Reg) -> &mut Self {
        self.put(OR, to, from as u8, 0, 0)
    }

    /// `to <<= bits`.
    pub fn shift_left(&mut self, to: Reg, bits: i32) -> &mut Self {
        self.put(SHIFT_LEFT, to, 0, 0, bits)
    }

    /// `to = *(from + offset)`.
    pub fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) -> &mut Self {
        self.put(CLASS_LOAD | size as u8, to, from as u8, offset, 0)
    }

    /// `*(to + offset) = from`.
    pub fn store(&mut self, size: Size, to: Reg, offset: i16, from: Reg) -> &mut Self {
        self.put(CLASS_STORE | size as u8, to, from as u8, offset, 0)
    }

    /// `*(to + offset) = constant`.
    pub fn store_constant(&mut self, size: Size, to: Reg, offset: i16, constant: i32) -> &mut Self {
        self.put(CLASS_STORE_CONSTANT | size as u8, to, 0, offset, constant)
    }

    /// `*(to + 0) += from`, of 64 bits, atomically.
    pub fn atomic_add(&mut self, to: Reg, from: Reg) -> &mut Self {
        self.put(ATOMIC_ADD_U64, to, from as u8, 0, 0)
    }

    fn jump_by(&mut self, op: u8, to: Reg, from: u8, constant: i32, label: Label) -> &mut Self {
        self.jumps.push((self.code.len(), label));
        self.put(op, to, from, 0, constant)
    }

    /// Goes on at the label.
    pub fn jump(&mut self, label: Label) -> &mut Self {
        self.jump_by(JUMP, Reg::R0, 0, 0, label)
    }

    /// Goes on at the label if the lower 32 bits compare so.
    pub fn jump_if(&mut self, left: Reg, how: If, constant: i32, label: Label) -> &mut Self {
        self.jump_by(JUMP_32 | how as u8, left, 0, constant, label)
    }

    /// Goes on at the label if a pointer is null.
    pub fn jump_if_null(&mut self, pointer: Reg, label: Label) -> &mut Self {
        self.jump_by(JUMP_IF_ZERO, pointer, 0, 0, label)
    }

    /// Goes on at the label if the registers differ.
    pub fn jump_if_differ(&mut self, left: Reg, right: Reg, label: Label) -> &mut Self {
        self.jump_by(JUMP_IF_NOT_SAME, left, right as u8, 0, label)
    }

    /// Calls one of the kernel's helpers.
    pub fn call(&mut self, helper: i32) -> &mut Self {
        self.put(CALL, Reg::R0, 0, 0, helper)
    }

    /// Ends the program with the result in R0.
    pub fn exit(&mut self) -> &mut Self {
        self.put(EXIT, Reg::R0, 0, 0, 0)
    }

    /// The program in the kernel's form.
    ///
    /// # Panics
    /// If a jump names a label that was not placed, or one too far away: errors of whoever wrote the program.
    pub fn finish(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("every label is placed");
            let distance = i16::try_from(target as i64 - at as i64 - 1).expect("jumps are short");
            self.code[at][2..4].copy_from_slice(&distance.to_ne_bytes());
        }
        self.code.concat()
    }
}

/// Destination and source share a byte, in the order of the machine's bits.
const fn registers(to: u8, from: u8) -> u8 {
    if cfg!(target_endian = "little") {
        from << 4 | to
    } else {
        to << 4 | from
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::{Asm, If, Reg::*, Size};

    /// What clang 14 (`-target bpf`) and llvm-objdump make of the same lines.
    #[test]
    fn encodes_as_clang_does() {
        let mut asm = Asm::default();
        let end = asm.label();
        asm.mov(R6, R1)
            .load(Size::U32, R7, R6, 20)
            .jump_if(R7, If::Ne, 2, end)
            .set(R2, -8)
            .add_constant(R2, 4)
            .store(Size::U64, R10, -8, R3)
            .store_constant(Size::U32, R10, -4, 32)
            .set_u64(R1, 0x1_0000_0002)
            .load(Size::U8, R2, R3, 16)
            .jump_if_null(R0, end)
            .jump_if_differ(R0, R1, end)
            .atomic_add(R0, R1)
            .or(R1, R2)
            .shift_left(R2, 32)
            .add(R1, R2)
            .call(49)
            .place(end)
            .exit();
        let hex: Vec<String> = asm
            .finish()
            .chunks(8)
            .map(|c| c.iter().map(|b| format!("{b:02x}")).collect())
            .collect();
        assert_eq!(
            hex,
            [
                "bf16000000000000",
                "6167140000000000",
                "56070e0002000000",
                "b7020000f8ffffff",
                "0702000004000000",
                "7b3af8ff00000000",
                "620afcff20000000",
                "1801000002000000",
                "0000000001000000",
                "7132100000000000",
                "1500060000000000",
                "5d10050000000000",
                "db10000000000000",
                "4f21000000000000",
                "6702000020000000",
                "0f21000000000000",
                "8500000031000000",
                "9500000000000000",
            ]
        );
    }
}
