package ids

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKeysHaveTheirShape(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key := NewKey()
		if !IsKey(key) || len(key) != len("svc_sk_")+32 || seen[key] {
			t.Fatalf("the key %q is misshapen or came twice", key)
		}
		seen[key] = true
	}
	good := "svc_sk_" + strings.Repeat("a", 32)
	for _, bad := range []string{"", "svc_sk_", good[:len(good)-1], good + "a", " " + good, good + "\n",
		strings.ToUpper(good), "svc_sk_" + strings.Repeat("-", 32), "svc_sk_" + strings.Repeat("ä", 16)} {
		if IsKey(bad) {
			t.Errorf("%q passes for a key", bad)
		}
	}
}

// TestRandomIsEven counts the characters: with n draws of 62 kinds the count of each is
// within six standard deviations of n/62, but for one run in some million.
func TestRandomIsEven(t *testing.T) {
	const n = 620_000
	count := map[rune]int{}
	for _, r := range Random(n) {
		count[r]++
	}
	if len(count) != 62 {
		t.Fatalf("%d kinds of character, want 62", len(count))
	}
	const mean, deviation = n / 62, 100 // √(n·(1/62)·(61/62)) = 99.2
	for r, c := range count {
		if c < mean-6*deviation || c > mean+6*deviation {
			t.Errorf("%q comes %d times, want about %d", r, c, mean)
		}
	}
}

func TestRandomHasItsLength(t *testing.T) {
	for n := range 200 {
		if got := len(Random(n)); got != n {
			t.Errorf("Random(%d) has %d characters", n, got)
		}
	}
}

func TestIDsSortByAge(t *testing.T) {
	made := make([]string, 10_000)
	for i := range made {
		made[i] = New()
	}
	if !slices.IsSorted(made) || len(slices.Compact(made)) != 10_000 {
		t.Error("ids are not in the order in which they were made, or came twice")
	}
}

func TestIsUUID(t *testing.T) {
	id := New()
	if !IsUUID(id) || !IsUUID("00000000-0000-4000-8000-000000000000") {
		t.Error("a uuid is refused")
	}
	for _, bad := range []string{"", strings.ToUpper(id), "{" + id + "}", "urn:uuid:" + id,
		strings.ReplaceAll(id, "-", ""), id + " ", id[:35], id[:35] + "g"} {
		if IsUUID(bad) {
			t.Errorf("%q passes for a uuid", bad)
		}
	}
}

func TestHashIsKeyed(t *testing.T) {
	// RFC 4231, test case 2.
	if got := Hash([]byte("Jefe"), "what do ya want for nothing?"); got != "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" {
		t.Errorf("the hash is %s", got)
	}
	if Hash([]byte("a"), "x") == Hash([]byte("b"), "x") {
		t.Error("the key makes no difference")
	}
}

func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		if Equal(a, b) != (a == b) || !Equal(a, strings.Clone(a)) {
			t.Fatalf("Equal(%q, %q) is %v", a, b, Equal(a, b))
		}
	})
	if Equal("a", "a\x00") || Equal("", "\x00") || !Equal("", "") {
		t.Error("padding passes")
	}
}

func TestSecretsDiffer(t *testing.T) {
	a, b := Secret(32), Secret(32)
	if len(a) != 32 || slices.Equal(a, b) {
		t.Error("two secrets are alike")
	}
}

func FuzzIsKey(f *testing.F) {
	f.Add(NewKey())
	f.Add("svc_sk_")
	f.Fuzz(func(t *testing.T, s string) {
		if IsKey(s) && (len(s) != 39 || !strings.HasPrefix(s, "svc_sk_") || strings.Trim(s[7:], keyAlphabet) != "") {
			t.Errorf("%q passes for a key", s)
		}
		if IsUUID(s) && (len(s) != 36 || strings.Trim(s, "0123456789abcdef-") != "") {
			t.Errorf("%q passes for a uuid", s)
		}
	})
}
