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
