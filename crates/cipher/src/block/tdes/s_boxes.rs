//! The S-boxes of DES (FIPS 46-3, appendix 1) as Boolean circuits on planes: no tables, so constant
//! time.
//!
//! Each exists twice: in gates of two inputs, and in gates of three inputs for instruction sets
//! that have any such gate. Inputs b1 to b6 and the four outputs are in the standard's order, most
//! significant first.
//!
//! The circuits were found by a randomised search of ours after Kwan (Reducing the gate count of
//! bitslice DES, eprint 2000/051): take an existing gate, else one or two gates that complete the
//! function, else split by an input. A better circuit may replace any of them at any time; the
//! tests compare every circuit with the standard's table on all its 64 inputs.

use crate::arch::Planes;

/// S-box `BOX`, from 0 for S1 to 7 for S8, by the circuits that suit `P`.
#[inline(always)]
pub(super) fn s_box<const BOX: usize, P: Planes>(planes: P, input: [P::Plane; 6]) -> [P::Plane; 4] {
    if P::TERNARY {
        ternary::s_box::<BOX, P>(planes, input)
    } else {
        binary::s_box::<BOX, P>(planes, input)
    }
}

/// The eight circuits of a module by their number.
macro_rules! by_number {
    () => {
        #[inline(always)]
        pub(super) fn s_box<const BOX: usize, P: Planes>(
            planes: P,
            input: [P::Plane; 6],
        ) -> [P::Plane; 4] {
            match BOX {
                0 => s1(planes, input),
                1 => s2(planes, input),
                2 => s3(planes, input),
                3 => s4(planes, input),
                4 => s5(planes, input),
                5 => s6(planes, input),
                6 => s7(planes, input),
                7 => s8(planes, input),
                _ => unreachable!("DES has eight S-boxes"),
            }
        }
    };
}

/// Gates of two inputs, and complements: 452 in all.
mod binary {
    use super::Planes;

    by_number!();

    /// A circuit as a function: each gate is a method of the planes.
    macro_rules! circuit {
        ($name:ident($($input:ident)+) -> ($($output:ident)+):
        $($gate:ident = $method:ident($($from:ident)+);)+) => {
            #[inline(always)]
            fn $name<P: Planes>(planes: P, [$($input),+]: [P::Plane; 6]) -> [P::Plane; 4] {
                $(let $gate = planes.$method($($from),+);)+
                [$($output),+]
            }
        };
    }

    circuit! { s1(b1 b2 b3 b4 b5 b6) -> (t49 t62 t21 t37):
        t1 = xor(b1 b4); t2 = and_not(t1 b6); t3 = xor(b3 t2); t4 = xor(t1 t3); t5 = xor(t4 b5);
        t6 = and(b3 b4); t7 = or(t6 t3); t8 = or(t7 b6); t9 = xor(t5 t8); t10 = and_not(t9 b2);
        t11 = xor(t3 t10); t12 = not(t3); t13 = or(t4 b1); t14 = and_not(t13 t9); t15 = and(t14 b2);
        t16 = xor(t12 t15); t17 = and(t13 t6); t18 = and(t17 b6); t19 = xor(t16 t18);
        t20 = or(t19 b5); t21 = xor(t11 t20); t22 = or(b5 b4); t23 = xor(t22 t9); t24 = and(t21 t9);
        t25 = or(t16 b1); t26 = and(t25 b4); t27 = xor(t24 t26); t28 = and_not(t27 b6);
        t29 = xor(t23 t28); t30 = and_not(t27 t8); t31 = xor(t30 t11); t32 = and(t10 b5);
        t33 = xor(t32 t7); t34 = or(t33 b1); t35 = xor(t31 t34); t36 = or(t35 b2);
        t37 = xor(t29 t36); t38 = xor(t26 t22); t39 = xor(t38 t20); t40 = and_not(t24 t34);
        t41 = or(t40 b2); t42 = xor(t39 t41); t43 = and_not(t1 t14); t44 = and(b2 t42);
        t45 = or(t44 t29); t46 = or(t45 b3); t47 = xor(t43 t46); t48 = and(t47 b6);
        t49 = xor(t42 t48); t50 = or(t12 t21); t51 = xor(t50 t9); t52 = xor(t46 t34);
        t53 = xor(t52 t33); t54 = or(t53 b2); t55 = xor(t51 t54); t56 = and_not(t31 t47);
        t57 = xor(t14 t36); t58 = and(t57 t45); t59 = and_not(t58 b3); t60 = xor(t56 t59);
        t61 = or(t60 b6); t62 = xor(t55 t61);
    }

    circuit! { s2(b1 b2 b3 b4 b5 b6) -> (t18 t31 t56 t43):
        t1 = xor(b1 b5); t2 = xor(t1 b4); t3 = and(b1 b6); t4 = xor(t2 t3); t5 = or(b1 b6);
        t6 = and(t3 b5); t7 = xor(t5 t6); t8 = and(t7 b3); t9 = xor(t4 t8); t10 = or(t5 b3);
        t11 = and_not(t2 b5); t12 = xor(t10 t11); t13 = and_not(b5 t4); t14 = not(t13);
        t15 = or(t14 b4); t16 = xor(t12 t15); t17 = or(t16 b2); t18 = xor(t9 t17); t19 = not(t2);
        t20 = and_not(t14 b3); t21 = and(t20 b6); t22 = xor(t19 t21); t23 = and_not(b5 t18);
        t24 = or(t23 b6); t25 = xor(b3 t24); t26 = or(t22 t5); t27 = xor(t26 b6);
        t28 = and_not(t27 b4); t29 = xor(t25 t28); t30 = and(t29 b2); t31 = xor(t22 t30);
        t32 = and_not(b1 t13); t33 = xor(t32 t25); t34 = xor(t17 b3); t35 = and_not(t34 b5);
        t36 = xor(t33 t35); t37 = xor(t34 t36); t38 = xor(t37 t5); t39 = or(t9 t3);
        t40 = and_not(t39 b5); t41 = xor(t38 t40); t42 = and(t41 b2); t43 = xor(t36 t42);
        t44 = xor(b2 t27); t45 = and_not(t36 t38); t46 = xor(t45 t2); t47 = or(t46 b3);
        t48 = xor(t44 t47); t49 = or(t30 t36); t50 = and(t49 t9); t51 = and_not(t35 t4);
        t52 = xor(t51 b4); t53 = or(t52 b3); t54 = xor(t50 t53); t55 = and_not(t54 b5);
        t56 = xor(t48 t55);
    }

    circuit! { s3(b1 b2 b3 b4 b5 b6) -> (t56 t43 t32 t15):
        t1 = xor(b3 b6); t2 = xor(t1 b2); t3 = and(b3 b2); t4 = and_not(b6 t3); t5 = or(t4 b4);
        t6 = xor(t2 t5); t7 = and_not(t2 t1); t8 = or(t7 b5); t9 = xor(t6 t8); t10 = xor(t2 t9);
        t11 = xor(b4 b3); t12 = and_not(t11 b5); t13 = xor(t10 t12); t14 = or(t13 b1);
        t15 = xor(t9 t14); t16 = and_not(t6 t1); t17 = xor(t16 b5); t18 = xor(t3 b3);
        t19 = or(t18 t9); t20 = and(t19 b4); t21 = xor(t17 t20); t22 = or(b6 t18);
        t23 = and_not(t6 b5); t24 = xor(t22 t23); t25 = not(t7); t26 = and(t6 t17);
        t27 = and(t26 b6); t28 = xor(t25 t27); t29 = or(t28 b4); t30 = xor(t24 t29);
        t31 = and_not(t30 b1); t32 = xor(t21 t31); t33 = and_not(t13 b2); t34 = xor(t33 t7);
        t35 = or(t9 t11); t36 = and(t35 b5); t37 = xor(t34 t36); t38 = and_not(t8 t16);
        t39 = xor(t38 t21); t40 = or(t39 b3); t41 = xor(b3 t40); t42 = or(t41 b1);
        t43 = xor(t37 t42); t44 = xor(t2 b4); t45 = xor(t44 b5); t46 = and_not(b3 t38);
        t47 = or(t46 b2); t48 = xor(t45 t47); t49 = xor(t30 t11); t50 = or(t49 t47);
        t51 = or(t1 t15); t52 = xor(t51 t4); t53 = or(t52 b4); t54 = xor(t50 t53); t55 = or(t54 b1);
        t56 = xor(t48 t55);
    }

    circuit! { s4(b1 b2 b3 b4 b5 b6) -> (t41 t43 t25 t23):
        t1 = and_not(b3 b2); t2 = xor(t1 b1); t3 = and(b1 b3); t4 = and_not(b2 t3);
        t5 = and_not(t4 b4); t6 = xor(t2 t5); t7 = xor(t3 b4); t8 = not(t5); t9 = or(t8 b1);
        t10 = xor(t7 t9); t11 = or(t10 b5); t12 = xor(t6 t11); t13 = and_not(t10 b5);
        t14 = or(t13 b2); t15 = and_not(b1 b4); t16 = xor(t14 t15); t17 = or(t15 t7);
        t18 = and(t17 b5); t19 = xor(t8 t18); t20 = or(t19 b3); t21 = xor(t16 t20);
        t22 = and(t21 b6); t23 = xor(t12 t22); t24 = or(b6 t21); t25 = xor(t24 t12);
        t26 = and_not(t19 t3); t27 = xor(t26 b3); t28 = and(b1 b2); t29 = xor(t27 t28);
        t30 = xor(t27 t17); t31 = and_not(t30 t4); t32 = and_not(t31 b5); t33 = xor(t29 t32);
        t34 = xor(t31 t14); t35 = xor(t34 t11); t36 = and_not(t12 t31); t37 = xor(t36 t15);
        t38 = and_not(t37 b3); t39 = xor(t35 t38); t40 = and(t39 b6); t41 = xor(t33 t40);
        t42 = or(t39 b6); t43 = xor(t42 t33);
    }

    circuit! { s5(b1 b2 b3 b4 b5 b6) -> (t47 t18 t61 t33):
        t1 = xor(b3 b6); t2 = xor(t1 b2); t3 = and_not(b3 t1); t4 = and_not(b2 t3); t5 = or(t4 b4);
        t6 = xor(t2 t5); t7 = and_not(t3 t5); t8 = or(t7 b5); t9 = xor(t6 t8); t10 = and_not(t6 b4);
        t11 = and(t10 b2); t12 = xor(b1 t11); t13 = or(t1 b4); t14 = xor(t13 b3); t15 = and(t14 b5);
        t16 = xor(t12 t15); t17 = and(t16 b1); t18 = xor(t9 t17); t19 = and_not(b6 b1);
        t20 = xor(t19 t5); t21 = or(t18 t12); t22 = xor(t21 t3); t23 = and(t22 b3);
        t24 = xor(t20 t23); t25 = and_not(t2 t22); t26 = xor(t18 b4); t27 = and_not(t22 b2);
        t28 = or(t27 b1); t29 = xor(t26 t28); t30 = or(t29 b6); t31 = xor(t25 t30);
        t32 = and_not(t31 b5); t33 = xor(t24 t32); t34 = and_not(t2 b3); t35 = xor(t34 t28);
        t36 = and(t31 t23); t37 = xor(t36 t28); t38 = or(t37 b4); t39 = xor(t35 t38);
        t40 = or(b4 t18); t41 = xor(t40 t25); t42 = and(t16 t33); t43 = xor(t42 b4);
        t44 = and_not(t43 b1); t45 = xor(t41 t44); t46 = and(t45 b5); t47 = xor(t39 t46);
        t48 = and(b4 b6); t49 = xor(t48 t2); t50 = xor(b4 t49); t51 = and_not(b2 t50);
        t52 = or(t51 b5); t53 = xor(t49 t52); t54 = and_not(t24 t4); t55 = not(t54);
        t56 = and(t31 t1); t57 = and_not(t39 t56); t58 = and(t57 b5); t59 = xor(t55 t58);
        t60 = and_not(t59 b1); t61 = xor(t53 t60);
    }

    circuit! { s6(b1 b2 b3 b4 b5 b6) -> (t59 t22 t45 t36):
        t1 = xor(b1 b6); t2 = and(b2 t1); t3 = xor(t2 b5); t4 = and(t1 b1); t5 = xor(t3 t4);
        t6 = and(t5 b5); t7 = xor(t1 t6); t8 = xor(t5 b2); t9 = not(t5); t10 = and_not(t9 b5);
        t11 = xor(t8 t10); t12 = and_not(t11 b4); t13 = xor(t7 t12); t14 = xor(b6 t11);
        t15 = and(t14 b1); t16 = or(t9 b1); t17 = and(b6 b2); t18 = xor(t16 t17); t19 = or(t18 b4);
        t20 = xor(t15 t19); t21 = and(t20 b3); t22 = xor(t13 t21); t23 = or(t5 t2);
        t24 = or(t23 b6); t25 = xor(t14 t24); t26 = and(t25 t22); t27 = or(t26 b6);
        t28 = xor(t23 t27); t29 = or(t28 b4); t30 = xor(t25 t29); t31 = xor(b6 t3);
        t32 = and(t31 t27); t33 = or(t32 b1); t34 = xor(b5 t33); t35 = and(t34 b3);
        t36 = xor(t30 t35); t37 = and_not(t16 t1); t38 = xor(t37 t11); t39 = and_not(t13 t18);
        t40 = or(t39 b4); t41 = xor(t38 t40); t42 = xor(t18 t25); t43 = or(t42 t3);
        t44 = and_not(t43 b3); t45 = xor(t41 t44); t46 = xor(b4 t34); t47 = and(b6 b5);
        t48 = xor(t46 t47); t49 = and_not(b2 t32); t50 = xor(t49 t10); t51 = and_not(t50 b3);
        t52 = xor(t48 t51); t53 = and(b3 t32); t54 = xor(t41 b3); t55 = xor(t54 t42);
        t56 = or(t55 b5); t57 = xor(t53 t56); t58 = or(t57 b4); t59 = xor(t52 t58);
    }

    circuit! { s7(b1 b2 b3 b4 b5 b6) -> (t31 t46 t59 t15):
        t1 = xor(b4 b6); t2 = and(b2 b6); t3 = and(t2 b4); t4 = or(t3 b5); t5 = xor(t1 t4);
        t6 = and_not(b4 b5); t7 = xor(t6 b2); t8 = or(t7 b3); t9 = xor(t5 t8); t10 = xor(t9 b3);
        t11 = and(t10 t7); t12 = and(t11 b6); t13 = xor(b1 t12); t14 = and(t13 b1);
        t15 = xor(t9 t14); t16 = xor(t7 b1); t17 = or(t16 b3); t18 = xor(t13 t17);
        t19 = and(t9 t16); t20 = xor(t19 t7); t21 = or(t20 b6); t22 = xor(t18 t21);
        t23 = and(b1 t5); t24 = xor(t23 t1); t25 = and_not(t24 b3); t26 = xor(t5 t25);
        t27 = and(t24 t17); t28 = and_not(t27 b4); t29 = xor(t26 t28); t30 = or(t29 b2);
        t31 = xor(t22 t30); t32 = xor(t31 t10); t33 = or(t6 t11); t34 = and(t33 b1);
        t35 = xor(t32 t34); t36 = and(t34 t18); t37 = xor(t36 t24); t38 = or(t37 b6);
        t39 = xor(t35 t38); t40 = or(t14 t31); t41 = xor(t40 t2); t42 = not(t23); t43 = or(t42 b3);
        t44 = xor(t41 t43); t45 = or(t44 b4); t46 = xor(t39 t45); t47 = and_not(t39 t32);
        t48 = xor(t47 t16); t49 = and(t21 b2); t50 = xor(t49 t22); t51 = and_not(t50 b5);
        t52 = xor(t48 t51); t53 = xor(b2 t47); t54 = xor(t53 t41); t55 = xor(t53 b6);
        t56 = and(t55 b5); t57 = xor(t54 t56); t58 = and_not(t57 b3); t59 = xor(t52 t58);
    }

    circuit! { s8(b1 b2 b3 b4 b5 b6) -> (t56 t33 t48 t21):
        t1 = xor(b1 b3); t2 = and_not(b2 b4); t3 = xor(t1 t2); t4 = or(t1 b2); t5 = xor(t4 b4);
        t6 = not(t4); t7 = and(b2 b4); t8 = xor(t6 t7); t9 = or(t8 b1); t10 = xor(t5 t9);
        t11 = and_not(t10 b5); t12 = xor(t3 t11); t13 = or(b5 t10); t14 = or(b2 b3);
        t15 = xor(t13 t14); t16 = and_not(b5 t15); t17 = and_not(t12 t16); t18 = or(t17 b4);
        t19 = xor(t15 t18); t20 = and(t19 b6); t21 = xor(t12 t20); t22 = xor(t15 t10);
        t23 = and_not(t22 t2); t24 = and_not(t12 b5); t25 = xor(t23 t24); t26 = xor(b5 b4);
        t27 = and(t26 t1); t28 = and_not(t7 t3); t29 = xor(t28 t27); t30 = and(t29 b3);
        t31 = xor(t27 t30); t32 = or(t31 b6); t33 = xor(t25 t32); t34 = or(t21 t26);
        t35 = and(t34 b6); t36 = xor(t10 t35); t37 = and(t33 t12); t38 = and_not(b2 t37);
        t39 = and_not(t38 b5); t40 = xor(t36 t39); t41 = and(t21 t17); t42 = xor(t41 t35);
        t43 = and(t2 b6); t44 = xor(t43 t38); t45 = and_not(t44 b4); t46 = xor(t42 t45);
        t47 = or(t46 b1); t48 = xor(t40 t47); t49 = xor(t31 b1); t50 = xor(t49 t15);
        t51 = and_not(t22 t24); t52 = xor(t51 t40); t53 = or(t52 b4); t54 = xor(t50 t53);
        t55 = or(t54 b6); t56 = xor(t12 t55);
    }
}

/// Gates of three inputs, each by its truth table as [`Planes::ternary`] takes it: 214 in all.
mod ternary {
    use super::Planes;

    by_number!();

    /// A circuit as a function: each gate is a method of the planes.
    macro_rules! circuit {
        ($name:ident($($input:ident)+) -> ($($output:ident)+):
        $($gate:ident = $table:literal($($from:ident)+);)+) => {
            #[inline(always)]
            fn $name<P: Planes>(planes: P, [$($input),+]: [P::Plane; 6]) -> [P::Plane; 4] {
                $(let $gate = planes.ternary::<$table>($($from),+);)+
                [$($output),+]
            }
        };
    }

    circuit! { s1(b1 b2 b3 b4 b5 b6) -> (t24 t29 t17 t10):
        t1 = 0x48(b3 b5 b6); t2 = 0x5a(t1 b1 b4); t3 = 0xe9(b5 b4 b6); t4 = 0xc1(t3 b3 t2);
        t5 = 0xca(b1 t4 t2); t6 = 0x92(t2 b1 t3); t7 = 0x56(t1 b1 t4); t8 = 0xe3(t7 t2 t3);
        t9 = 0xca(b5 t6 t8); t10 = 0xca(b2 t9 t5); t11 = 0x93(t6 t3 b3); t12 = 0x12(t11 t1 t10);
        t13 = 0xb4(t7 b3 b1); t14 = 0xca(b5 t13 t12); t15 = 0x14(t1 t14 t6); t16 = 0x96(t15 t13 t9);
        t17 = 0xca(b2 t14 t16); t18 = 0x39(t1 b3 t2); t19 = 0xda(t18 b5 t11); t20 = 0x47(t19 t2 b3);
        t21 = 0xca(b2 t19 t20); t22 = 0x7a(b2 t14 t9); t23 = 0x96(t22 t11 t13);
        t24 = 0xca(b1 t21 t23); t25 = 0xb9(t5 b2 b6); t26 = 0x61(t25 t16 t15);
        t27 = 0x98(t18 t9 t17); t28 = 0xc7(t27 t24 t13); t29 = 0xca(b5 t26 t28);
    }

    circuit! { s2(b1 b2 b3 b4 b5 b6) -> (t9 t16 t27 t21):
        t1 = 0x9a(b6 b1 b2); t2 = 0xd3(b2 b6 b1); t3 = 0xca(b3 t1 t2); t4 = 0xb8(t3 b1 b3);
        t5 = 0x96(t4 t1 b6); t6 = 0xca(b5 t3 t5); t7 = 0x91(t4 t5 b5); t8 = 0x27(t7 t6 b2);
        t9 = 0xca(b4 t6 t8); t10 = 0x69(b5 b1 b4); t11 = 0xe1(t1 b4 b5); t12 = 0xca(b3 t10 t11);
        t13 = 0x58(t2 t9 b5); t14 = 0xa5(t13 t5 b3); t15 = 0xca(b2 t14 t10); t16 = 0xca(b6 t12 t15);
        t17 = 0xed(t8 t1 t15); t18 = 0x96(t17 b1 b3); t19 = 0x9b(t17 t9 b2);
        t20 = 0x3a(t19 t12 t16); t21 = 0xca(b5 t18 t20); t22 = 0x96(t15 t4 t3);
        t23 = 0x58(t7 t10 t16); t24 = 0xca(b4 t22 t23); t25 = 0xca(t24 t19 t5);
        t26 = 0x29(t25 t12 t11); t27 = 0xca(b6 t24 t26);
    }

    circuit! { s3(b1 b2 b3 b4 b5 b6) -> (t16 t27 t22 t8):
        t1 = 0xa6(b6 b4 b3); t2 = 0x96(t1 b1 b5); t3 = 0x6e(t1 b3 b6); t4 = 0x35(t3 t2 b4);
        t5 = 0xca(b2 t4 t2); t6 = 0x12(b4 b5 b3); t7 = 0x96(t6 b2 t3); t8 = 0xca(b1 t5 t7);
        t9 = 0xbd(t1 b5 t4); t10 = 0x4b(t9 b1 t7); t11 = 0xd6(b6 t4 t9); t12 = 0xda(t11 t8 b4);
        t13 = 0xca(b3 t10 t12); t14 = 0xf1(b4 b1 t8); t15 = 0xa6(t14 b6 t2); t16 = 0xca(b2 t15 t13);
        t17 = 0xda(t14 t3 t16); t18 = 0xd9(t15 t7 t13); t19 = 0xca(b2 t17 t18);
        t20 = 0xe2(b3 t8 t13); t21 = 0xe1(t20 t16 t4); t22 = 0xca(b1 t19 t21);
        t23 = 0x83(b6 b4 t22); t24 = 0x96(t23 t3 t7); t25 = 0x12(t17 t20 t4);
        t26 = 0xc5(t25 t1 t24); t27 = 0xca(b1 t24 t26);
    }

    circuit! { s4(b1 b2 b3 b4 b5 b6) -> (t19 t20 t11 t21):
        t1 = 0x2d(b4 b5 b3); t2 = 0x2d(b3 b4 b5); t3 = 0xca(b2 t2 t1); t4 = 0xe3(b2 t2 t1);
        t5 = 0x4f(t4 b5 t3); t6 = 0xca(b1 t3 t5); t7 = 0x96(b5 t4 t3); t8 = 0x66(t5 b5 b4);
        t9 = 0xb4(t8 t4 b2); t10 = 0xca(b1 t7 t9); t11 = 0xca(b6 t10 t6); t12 = 0x61(t1 b1 b5);
        t13 = 0x5e(t12 t9 b3); t14 = 0x58(t6 t12 t8); t15 = 0xca(b2 t14 t13); t16 = 0x47(t2 b2 t9);
        t17 = 0x69(t15 b4 t4); t18 = 0xca(b1 t16 t17); t19 = 0xca(b6 t18 t15);
        t20 = 0x3a(b6 t15 t18); t21 = 0x8b(t10 b6 t6);
    }

    circuit! { s5(b1 b2 b3 b4 b5 b6) -> (t28 t8 t16 t23):
        t1 = 0x49(b5 b3 b1); t2 = 0x96(t1 b6 b2); t3 = 0xc1(b6 b5 b3); t4 = 0xa6(t3 t2 b1);
        t5 = 0xe1(b3 b6 t3); t6 = 0xb5(t5 b1 t2); t7 = 0xca(b2 t4 t6); t8 = 0xca(b4 t2 t7);
        t9 = 0x47(t5 t3 b4); t10 = 0xe4(t7 b3 t1); t11 = 0x92(t10 t9 b4); t12 = 0xca(b2 t11 t9);
        t13 = 0x2b(t12 t6 t9); t14 = 0x2d(b4 t6 t4); t15 = 0xca(b6 t14 t13); t16 = 0xca(b1 t15 t12);
        t17 = 0xa3(t16 t14 t1); t18 = 0x69(t17 t5 b2); t19 = 0x16(b5 t15 b4);
        t20 = 0x96(t19 t17 t11); t21 = 0x83(t20 t19 t2); t22 = 0xca(b2 t21 t20);
        t23 = 0xca(b1 t22 t18); t24 = 0xca(t23 b2 b1); t25 = 0x96(t24 t16 t8);
        t26 = 0x21(t10 t20 t2); t27 = 0xc9(t26 t23 t25); t28 = 0xca(b5 t25 t27);
    }

    circuit! { s6(b1 b2 b3 b4 b5 b6) -> (t9 t21 t15 t27):
        t1 = 0x69(b5 b1 b4); t2 = 0xb9(b2 b1 b4); t3 = 0xa7(t2 b2 b1); t4 = 0xca(b5 t2 t3);
        t5 = 0xca(b6 t4 t1); t6 = 0x96(t1 b6 b2); t7 = 0x19(b6 t6 t5); t8 = 0xca(b5 t6 t7);
        t9 = 0xca(b3 t5 t8); t10 = 0x5c(b1 b2 b6); t11 = 0x63(t10 t6 b3); t12 = 0x68(t8 b6 t3);
        t13 = 0x4c(b6 t4 t12); t14 = 0xca(b3 t13 t12); t15 = 0xca(b5 t14 t11);
        t16 = 0x16(t7 t11 t1); t17 = 0x6c(t16 t6 b4); t18 = 0x64(t2 t11 t4);
        t19 = 0xc6(t16 t11 t10); t20 = 0xca(b4 t19 t18); t21 = 0xca(b3 t20 t17);
        t22 = 0x4b(t8 t2 b4); t23 = 0xe4(t11 t3 t2); t24 = 0xca(b6 t23 t22); t25 = 0xda(t22 t6 b4);
        t26 = 0x93(t25 t1 t3); t27 = 0xca(b3 t24 t26);
    }

    circuit! { s7(b1 b2 b3 b4 b5 b6) -> (t10 t28 t17 t23):
        t1 = 0xe5(b3 b2 b6); t2 = 0x69(t1 b4 b5); t3 = 0x4c(t1 b3 b6); t4 = 0x59(t3 t2 b2);
        t5 = 0xca(b4 t4 t2); t6 = 0x96(t3 b2 b4); t7 = 0x59(b6 t6 t1); t8 = 0xd2(t7 t5 b2);
        t9 = 0xca(b5 t8 t6); t10 = 0xca(b1 t9 t5); t11 = 0x92(t9 t7 t6); t12 = 0x9a(b5 b6 t6);
        t13 = 0xca(b4 t11 t12); t14 = 0x26(t3 t6 t5); t15 = 0x53(t8 t14 t13);
        t16 = 0xca(b5 t15 t14); t17 = 0xca(b1 t16 t13); t18 = 0x96(b1 t12 b4);
        t19 = 0x49(t18 t15 t8); t20 = 0x5e(t18 t6 t2); t21 = 0xa6(t2 t8 t18);
        t22 = 0xca(b6 t20 t21); t23 = 0xca(b3 t19 t22); t24 = 0x71(t7 t6 b6); t25 = 0xa6(t24 b2 t5);
        t26 = 0xb1(t15 t16 t2); t27 = 0xd2(t26 t24 t7); t28 = 0xca(b1 t25 t27);
    }

    circuit! { s8(b1 b2 b3 b4 b5 b6) -> (t27 t10 t22 t16):
        t1 = 0x1c(b3 b2 b4); t2 = 0xc3(t1 b5 b1); t3 = 0xb5(b2 b5 b4); t4 = 0xe1(t3 b3 t2);
        t5 = 0xca(b1 t2 t4); t6 = 0x38(t1 b4 b3); t7 = 0x65(t6 b5 t3); t8 = 0x57(b5 t3 t4);
        t9 = 0xca(b1 t7 t8); t10 = 0xca(b6 t9 t5); t11 = 0x14(t9 b2 b4); t12 = 0x96(t11 b1 t2);
        t13 = 0x66(b2 t6 b1); t14 = 0x47(t7 b1 t8); t15 = 0xca(b5 t13 t14); t16 = 0xca(b6 t12 t15);
        t17 = 0x4e(t7 t13 b4); t18 = 0xc6(t11 t13 b2); t19 = 0xca(b6 t18 t17);
        t20 = 0xe9(t16 t6 b6); t21 = 0xa3(t20 t4 t14); t22 = 0xca(b5 t21 t19);
        t23 = 0xeb(t10 b3 b6); t24 = 0x5c(t23 t14 t15); t25 = 0xa6(b6 t22 t18);
        t26 = 0x86(t25 t24 t19); t27 = 0xca(b4 t24 t26);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Arrays, Kernel, with_every};
    use crate::backend::Backend;

    /// FIPS 46-3, appendix 1: four rows by b1 and b6, sixteen columns by b2 to b5.
    const TABLES: [[[u8; 16]; 4]; 8] = [
        [
            [14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7],
            [0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5, 3, 8],
            [4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0],
            [15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14, 10, 0, 6, 13],
        ],
        [
            [15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10],
            [3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9, 11, 5],
            [0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15],
            [13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12, 0, 5, 14, 9],
        ],
        [
            [10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8],
            [13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11, 15, 1],
            [13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7],
            [1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12],
        ],
        [
            [7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15],
            [13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10, 14, 9],
            [10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4],
            [3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11, 12, 7, 2, 14],
        ],
        [
            [2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9],
            [14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9, 8, 6],
            [4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14],
            [11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9, 10, 4, 5, 3],
        ],
        [
            [12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11],
            [10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11, 3, 8],
            [9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6],
            [4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7, 6, 0, 8, 13],
        ],
        [
            [4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1],
            [13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15, 8, 6],
            [1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2],
            [6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15, 14, 2, 3, 12],
        ],
        [
            [13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7],
            [1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14, 9, 2],
            [7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8],
            [2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0, 3, 5, 6, 11],
        ],
    ];

    /// All 64 inputs at once: plane i holds bit b(i+1) of the input whose number is the lane's.
    struct Exhaust;

    impl<P: Planes> Kernel<P> for Exhaust {
        type Output = [[[Vec<u8>; 4]; 8]; 2];

        #[inline(always)]
        fn run(self, planes: P) -> Self::Output {
            let lanes = [32, 16, 8, 4, 2, 1]
                .map(|bit| (0..64).filter(|lane| lane & bit != 0).map(|l| 1 << l).sum());
            let input = lanes.map(|lanes| planes.splat(lanes));
            let bytes = |plane| {
                let mut bytes = vec![0; P::BYTES];
                planes.store(plane, &mut bytes);
                bytes
            };
            macro_rules! all {
                ($module:ident) => {
                    [
                        $module::s_box::<0, P>(planes, input).map(bytes),
                        $module::s_box::<1, P>(planes, input).map(bytes),
                        $module::s_box::<2, P>(planes, input).map(bytes),
                        $module::s_box::<3, P>(planes, input).map(bytes),
                        $module::s_box::<4, P>(planes, input).map(bytes),
                        $module::s_box::<5, P>(planes, input).map(bytes),
                        $module::s_box::<6, P>(planes, input).map(bytes),
                        $module::s_box::<7, P>(planes, input).map(bytes),
                    ]
                };
            }
            [all!(binary), all!(ternary)]
        }
    }

    #[test]
    fn circuits_equal_the_tables_of_the_standard() {
        let available = Backend::available().into_iter().map(|backend| {
            (backend.name(), with_every!(backend, |planes| planes.enter_planes(Exhaust)))
        });
        for (backend, circuits) in available.chain([("arrays", Arrays.enter_planes(Exhaust))]) {
            for (gates, boxes) in ["binary", "ternary"].into_iter().zip(circuits) {
                for (n, (table, outputs)) in TABLES.iter().zip(boxes).enumerate() {
                    for (bit, output) in [8, 4, 2, 1].into_iter().zip(outputs) {
                        let want: u64 = (0..64_usize)
                            .filter(|input| {
                                table[input >> 5 << 1 | input & 1][input >> 1 & 15] & bit != 0
                            })
                            .map(|input| 1 << input)
                            .sum();
                        for word in output.chunks(8) {
                            assert_eq!(word, want.to_le_bytes(), "{gates} S{} on {backend}", n + 1);
                        }
                    }
                }
            }
        }
    }
}
