package strength

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		password, email string
		says            string // empty: it is allowed
	}{
		{"short", "", "10 to 1024"},
		{strings.Repeat("ab1-x", 300), "", "10 to 1024"},
		// The list itself, other cases, and figures and signs for letters and around a word.
		{"qwertyuiop", "", "common"}, {"1234567890", "", "common"}, {"Password123", "", "common"},
		{"PASSWORD2026!", "", "common"}, {"P@ssw0rd2026", "", "common"}, {"manchester!", "", "common"},
		{"1q2w3e4r5t", "", "common"}, {"!!Liverpool1", "", "common"}, {"t3rm1n4t0r", "", "common"},
		// Pieces that are repeated.
		{"aaaaaaaaaaaa", "", "common"}, {"abcabcabcabc", "", "common"}, {"x7Kq2x7Kq2x7", "", "common"}, {"1212121212", "", "common"},
		// What is known of the account.
		{"ada.lovelace1", "ada.lovelace@example.com", "e-mail"}, {"Byron-Lovelace-1815", "ada.lovelace@byron.example", "e-mail"},
		{"VedetteVedette", "", "common"}, {"vedette-2026", "", "product"}, {"example-corp", "x@example.com", "e-mail"},
		{"vedettepassword", "", "product"},
		// Others.
		{"correct-horse", "ada@example.com", ""}, {"lovelace and the engine", "ada.lovelace@example.com", ""},
		{"monkey84729164", "", ""}, {"ünïcödé wörds", "", ""}, {"x7Kq2mP9vL", "", ""}, {"vedette guards the hill", "", ""},
		{strings.Repeat("correct horse ", 70), "", ""},
	} {
		err := Check("new_password", c.password, c.email)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%.40q: %v, want %q", c.password, err, c.says)
		}
		if e := errs.From(err); e != nil && (e.Kind != errs.Invalid || e.Param != "new_password") {
			t.Errorf("%.40q: %+v", c.password, e)
		}
	}
}

// Each word of the list is found, and what lies between two of them is not.
func TestTheListIsSearchedWhole(t *testing.T) {
	all := strings.Fields(words)
	if len(all) < 40_000 || !slices.IsSorted(all) {
		t.Fatalf("%d words", len(all))
	}
	for _, word := range all {
		if !isWord(word) {
			t.Errorf("%q is not found", word)
		}
		if next := word + "\x00"; isWord(next) {
			t.Errorf("%q is found", next)
		}
	}
	for _, word := range []string{"", "\x00", "\xff", "~~~~~~~~", "\n", all[0] + "\n" + all[1]} {
		if isWord(word) {
			t.Errorf("%q is found", word)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("Password123", "ada@example.com")
	f.Add("\xff\xfe0000000000", "@")
	f.Fuzz(func(t *testing.T, password, email string) {
		err := Check("password", password, email)
		if err != nil && (errs.From(err).Param != "password" || !utf8.ValidString(err.Error())) {
			t.Errorf("%v", err)
		}
		if again := Check("password", strings.ToUpper(password), email); len(password) == len(strings.ToUpper(password)) &&
			strings.EqualFold(strings.ToUpper(password), password) && (err == nil) != (again == nil) {
			t.Errorf("%q: %v, and in capitals %v", password, err, again)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Check("password", "lovelace and the engine", "ada.lovelace@example.com"); err != nil {
			b.Fatal(err)
		}
	}
}
