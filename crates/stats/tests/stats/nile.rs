//! A published series with a known answer: the flow of the Nile at Aswan from 1871 to 1970, which fell about 1898 (Cobb, "The
//! problem of the Nile: conditional solution to a change-point problem", Biometrika 65, 1978).

use pitot_stats::drift::{Correction, Kind, Question, Series, drift, mann_kendall, theil_sen};

const FLOW: [f64; 100] = [
    1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020., 960.,
    1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840., 874., 694.,
    940., 833., 701., 916., 692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120., 1100., 832., 764.,
    821., 768., 845., 864., 862., 698., 845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897.,
    822., 1010., 771., 676., 649., 846., 812., 742., 801., 1040., 860., 874., 848., 890., 744., 749., 838.,
    1050., 918., 986., 797., 923., 975., 815., 1020., 906., 901., 1170., 912., 746., 919., 718., 714., 740.,
];

/// Expected values: computed from the definitions by an independent program in another language.
#[test]
fn slope_score_and_corrected_variances_are_those_of_another_program() {
    let years: Vec<f64> = (0..100).map(f64::from).collect();
    assert_eq!(theil_sen(&years, &FLOW), -2.6);
    for (correction, variance, p) in [
        (Correction::Ties, 112_728.333_333, 3.658_262_9e-5),
        (Correction::HamedRao, 241_565.356_917, 0.004_802_676),
        (Correction::YueWang, 245_806.072_022, 0.005_181_184),
    ] {
        let test = mann_kendall(&FLOW, correction);
        assert_eq!(test.s, -1_387.0);
        assert!((test.variance - variance).abs() < 0.01, "{test:?}");
        assert!((test.p / p - 1.0).abs() < 1e-4, "{test:?}");
    }
}

#[test]
fn the_fall_of_1898_is_a_step_and_no_drift() {
    let points: Vec<_> = FLOW.iter().enumerate().map(|(year, flow)| (year as f64 * 60.0, *flow)).collect();
    let answer = drift(&Series { figure: "flow", points: &points }, &Question::default()).unwrap();
    assert!(!answer.declared, "{answer:?}");
    let [change] = &answer.changes[..] else { panic!("{answer:?}") };
    assert_eq!(change.kind, Kind::Step);
    // Between the 28th value and the 29th.
    assert_eq!(change.seconds, 27.5 * 60.0);
    assert!(change.interval[0] < -247.0 && change.interval[1] > -400.0, "{change:?}");
}

#[test]
fn the_fall_of_1898_is_the_only_change_of_level() {
    let [change] = &pitot_stats::level_changes(&FLOW)[..] else {
        panic!("{:?}", pitot_stats::level_changes(&FLOW))
    };
    assert!(change.at == 28 && change.p < 1e-3, "{change:?}");
    assert!(
        change.ratio > 0.72 && change.ratio < 0.82 && change.between[0] >= 24 && change.between[1] <= 32,
        "{change:?}"
    );
}
