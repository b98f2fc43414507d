package override

import (
	"strings"
	"testing"
)

// One about a finding wins over one about its template, and is about the finding's hash in every scan.
func TestSeverity(t *testing.T) {
	hash := strings.Repeat("a", hashLetters)
	set := Set{{"t", ""}: "low", {"t", hash}: "high"}
	for _, c := range []struct{ template, finding, want string }{
		{"t", hash + "scan1", "high"}, {"t", hash + "scan2", "high"}, {"t", strings.Repeat("b", hashLetters), "low"}, {"u", hash, "info"},
	} {
		if got := set.Severity(c.template, c.finding, "info"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for field, o := range map[string]Override{"template_id": {Custom: "low"}, "custom_severity": {TemplateID: "t", Custom: "awful"}} {
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A vector says the severity, and an override does not contradict its vector.
func TestVectors(t *testing.T) {
	const worst, none = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N"
	for _, c := range []struct{ vector, custom, want, refused string }{
		{worst, "", "critical", ""}, {worst, "critical", "critical", ""}, {none, "", "info", ""}, {worst + "/E:U/RL:O/RC:U", "", "high", ""},
		{worst, "low", "", "custom_severity"}, {"CVSS:3.1/AV:N", "", "", "cvss_vector"}, {"", "", "", "custom_severity"},
	} {
		o := Override{TemplateID: "t", Vector: c.vector, Custom: c.custom}
		switch err := o.Check(); {
		case c.refused == "" && (err != nil || o.Custom != c.want),
			c.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), c.refused)):
			t.Errorf("%+v: %s, %v", c, o.Custom, err)
		}
	}
	long := Override{TemplateID: "t", Custom: "low", Reason: strings.Repeat("ü", maxReason+1)}
	if err := long.Check(); err == nil || !strings.HasPrefix(err.Error(), "reason") {
		t.Errorf("a long reason: %v", err)
	}
}
