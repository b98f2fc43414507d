package leaks

import (
	"strings"
	"testing"
)

func TestMaskedLogin(t *testing.T) {
	for login, want := range map[string]string{
		"ada@example.com": "a***@example.com", "a@example.com": "a@example.com", "öda@example.com": "ö***@example.com", "root": "r***", "": "",
	} {
		if got := masked(login); got != want {
			t.Errorf("%s: %s", login, got)
		}
	}
}

// TestCellsAreNoFormulas: what a list has cannot become a formula in a spreadsheet.
func TestCellsAreNoFormulas(t *testing.T) {
	var b strings.Builder
	err := writeCSV(&b, []LeakItem{{ID: "1", URL: "=HYPERLINK(1)", Username: "+1", Password: "a,\"b"}})
	if want := "\r\n1,'=HYPERLINK(1),'+1,\"a,\"\"b\","; err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%s, %v", b.String(), err)
	}
}
