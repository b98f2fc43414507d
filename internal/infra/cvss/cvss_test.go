package cvss

import (
	"strings"
	"testing"
)

// Base metrics alone, and with metrics of threat and environment.
func TestParse(t *testing.T) {
	for text, want := range map[string]Vector{
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H":                                   {"3.1", 9.8, 9.8},
		"CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N":                                   {"3.0", 6.1, 6.1},
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:U":                               {"3.1", 9.8, 9},
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N":                                   {"3.1", 0, 0},
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/MAV:P":                             {"3.1", 9.8, 6.8},
		"CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N":                {"4.0", 9.3, 9.3},
		"CVSS:4.0/AV:L/AC:L/AT:N/PR:L/UI:N/VC:N/VI:N/VA:N/SC:N/SI:N/SA:N":                {"4.0", 0, 0},
		"CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:H/SI:H/SA:H/E:A/CR:H/U:Red": {"4.0", 10, 10},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "AV:N", "CVSS:3.1/AV:N", "CVSS:2.0/AV:N/AC:L/Au:N/C:C/I:C/A:C", "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:X",
		"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/AV:N", "CVSS:4.0/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
		"CVSS:3.1/" + strings.Repeat("AV:N/", MaxLength),
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%.80s: %+v", text, got)
		}
	}
}

func TestRating(t *testing.T) {
	for score, want := range map[float64]string{
		10: "critical", 9: "critical", 8.9: "high", 7: "high", 6.9: "medium", 4: "medium", 3.9: "low", 0.1: "low", 0: "none",
	} {
		if got := Rating(score); got != want {
			t.Errorf("%v: %s", score, got)
		}
	}
}

// FuzzParse: no text makes a panic, or a score that is none.
func FuzzParse(f *testing.F) {
	f.Add("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H")
	f.Add("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N/E:A")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err == nil && (v.Base < 0 || v.Base > 10 || v.Score < 0 || v.Score > 10) {
			t.Errorf("%q: %+v", text, v)
		}
	})
}
