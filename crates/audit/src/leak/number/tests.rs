//! Tests of numbers in text: which are told from other digits, and where.

use super::*;

/// Returns the offsets at which `is` holds in `text`.
fn places(text: &[u8], is: fn(&Token) -> bool) -> Vec<u64> {
    let view = View { bytes: text, base: 0, from: 0, to: text.len() };
    let mut all = Vec::new();
    let read =
        |units: Units<'_>| Token::read(units).filter(is).map(|_| view.offset(units.index(0)));
    search(&view, &read, &mut |offset| all.push(offset));
    all
}

/// Checks `text` alone, between other text, and in UTF-16 of both byte orders.
fn check(text: &str, is: fn(&Token) -> bool, want: &[u64]) {
    assert_eq!(places(text.as_bytes(), is), want, "{text}");
    let around = format!("name,{text};\n");
    let further = |by: u64| want.iter().map(move |at| at + by).collect::<Vec<_>>();
    assert_eq!(places(around.as_bytes(), is), further(5), "{around}");
    let wide: Vec<u8> = around.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let doubled: Vec<u64> = further(5).iter().map(|at| 2 * at).collect();
    assert_eq!(places(&wide, is), doubled, "{text} in UTF-16");
    let wide: Vec<u8> = around.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(places(&wide, is), doubled, "{text} in UTF-16, high byte first");
    // at an odd offset, where the other order fits, too: once, whatever its order
    let odd: Vec<u8> = [&[1], wide.as_slice()].concat();
    assert_eq!(places(&odd, is).len(), want.len(), "{text} at an odd offset");
}

#[test]
fn cards() {
    for card in [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "378282246310005",
        "3782 822463 10005",
        "30569309025904",
        "3056 930902 5904",
        "5555555555554444",
        "6011111111111117",
        "4222222222222",
        "4000000000000000006",
    ] {
        check(card, Token::is_card, &[0]);
    }
    check("Abe4111111111111111", Token::is_card, &[3]);
    check("x4111111111111111y", Token::is_card, &[1]);
    check("4111 1111 1111 1111 123", Token::is_card, &[0]);
    check("7 4111 1111 1111 1111", Token::is_card, &[2]);
    check("4111111111111111 5555555555554444", Token::is_card, &[0, 17]);
    check("4111111111111111,1227", Token::is_card, &[0]);
    check("4111111111111111.", Token::is_card, &[0]);
    for other in [
        "4111111111111112",
        "4111 1111 1111 1112",
        "04111111111111111",
        "41111111111111110",
        "411111111111",
        "41111111111111111111",
        "4111  1111 1111 1111",
        "4111-1111 1111-1111",
        "4111.1111.1111.1111",
        "4111-1111-1111-1111-1",
        "1-4111-1111-1111-1111",
        "4111 1111 1111 1111 1111",
        "1111 4111 1111 1111 1111",
        "0.4111111111111111",
        "4111111111111111.5",
        "2223000048400011",
        "9111111111111111",
        "0000000000000000",
        "4096 8192 16384",
        "ab4111111111111111abcdef",
        "4111111111111111ABCDEFAB",
        "abcdefab4111111111111111",
    ] {
        check(other, Token::is_card, &[]);
    }
    let long = format!("4111111111111111{}", "0".repeat(5000));
    check(&long, Token::is_card, &[]);
}

#[test]
fn residents() {
    // 5 + 7 + 8 = 20, 20 mod 11 = 9, 11 - 9 = 2; a foreigner's is two more: 5 + 7 + 40 = 52
    for number in [
        "000101-1000002",
        "0001011000002",
        "000101-3000008",
        "000229-3000001",
        "870605-1234566",
        "870605-5234560",
    ] {
        let digits: Vec<u8> =
            number.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        let right = format!("{}{}", &number[..number.len() - 1], check_digit(&digits));
        check(&right, Token::is_resident, &[0]);
        check(&format!("id-{right}"), Token::is_resident, &[3]);
        for wrong in (0..10).filter(|wrong| *wrong != check_digit(&digits)) {
            let wrong = format!("{}{wrong}", &number[..number.len() - 1]);
            check(&wrong, Token::is_resident, &[]);
        }
        check(&format!("1{right}"), Token::is_resident, &[]);
        check(&format!("{right}1"), Token::is_resident, &[]);
        check(
            &right.replace('-', " "),
            Token::is_resident,
            if right.contains('-') { &[] } else { &[0] },
        );
    }
    assert_eq!(check_digit(&[0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0]), 2);
    // days and centuries that are none, with right check digits
    for number in [
        "001301-1", "000132-1", "000001-1", "000100-1", "010229-1", "000229-1", "000101-9",
        "000101-0",
    ] {
        let digits: Vec<u8> = number
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|digit| digit - b'0')
            .chain([0; 5])
            .collect();
        check(&format!("{number}00000{}", check_digit(&digits)), Token::is_resident, &[]);
    }
}

#[test]
fn phones() {
    for (phone, at) in [
        ("010-1234-5678", 0),
        ("010 1234 5678", 0),
        ("010.1234.5678", 0),
        ("011-123-4567", 0),
        ("02-123-4567", 0),
        ("02-1234-5678", 0),
        ("031-123-4567", 0),
        ("070-1234-5678", 0),
        ("0507-1234-5678", 0),
        ("+82-10-1234-5678", 1),
        ("+82 10-1234-5678", 1),
        ("+8210-1234-5678", 1),
        ("+82 2 123 4567", 1),
        ("tel.010-1234-5678.", 4),
        ("2 010-1234-5678", 2),
    ] {
        check(phone, Token::is_phone, &[at]);
    }
    for other in [
        "01012345678",
        "010-12345678",
        "010-1234-56789",
        "0010-1234-5678",
        "010-1234-5678-9",
        "9-010-1234-5678",
        "010-1234 5678",
        "010--1234-5678",
        "110-1234-5678",
        "82-10-1234-5678",
        "+81-10-1234-5678",
        "+8-2010-1234-5678",
        "+82",
        "+82-",
        "+8",
        "000-1234-5678",
        "03-123-4567",
        "010-12-4567",
        "2026-10-12 12:30:45",
        "0507-12345-678",
    ] {
        check(other, Token::is_phone, &[]);
    }
}

/// Whatever the digits and the place, nothing is out of bounds.
#[test]
fn any_text_can_be_read() {
    for sign in ["", " ", "-", ".", "+", "a", "\0"] {
        for digits in 0..25 {
            let text = format!("{}{sign}", "8".repeat(digits)).repeat(12);
            for is in [Token::is_card, Token::is_resident, Token::is_phone] {
                for from in 0..3.min(text.len()) {
                    places(&text.as_bytes()[from..], is);
                    places(format!("+82{}", &text[from..]).as_bytes(), is);
                }
            }
        }
    }
}
