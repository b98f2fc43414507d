package diff

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	patch := strings.Join([]string{
		"@@ -1,3 +1,4 @@ func main",
		" one",
		"-two",
		"+@@ -1 +1 @@",
		"+drei",
		"",
		`\ No newline at end of file`,
		"@@ -10,0 +12 @@",
		"+++ not a file\r",
	}, "\n")
	want := []Line{{1, "one", false}, {2, "@@ -1 +1 @@", true}, {3, "drei", true}, {4, "", false}, {12, "++ not a file", true}}
	got, err := Parse(patch)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	if got, err := Parse(""); got != nil || err != nil {
		t.Errorf("of nothing: %v %v", got, err)
	}
}

func TestWhatIsNoPatchIsRefused(t *testing.T) {
	for _, patch := range []string{
		"+a", "diff --git a b", "@@ -1 +1 @@\n+a", "@@ -1 +1 @@\n-a\n+b\n+c", "@@ -1,2 +1 @@\n a\n b", "@@ -0,0 +0,1 @@\n+a",
		"@@ -1 +999999999 @@\n-a\n+b", "@@ -1 +1 @@\n-a\n*b",
	} {
		if got, err := Parse(patch); err == nil {
			t.Errorf("%q: %v", patch, got)
		}
	}
}

// What Parse takes has growing numbers, and each of its lines is in the patch.
func FuzzParse(f *testing.F) {
	f.Add("@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
	f.Add("@@ -1 +1 @@\n-a\r\n+b\r")
	f.Add("@@ -0,0 +1,3 @@\n+a\n+\n+c\n\\ No newline at end of file")
	f.Fuzz(func(t *testing.T, patch string) {
		lines, err := Parse(patch)
		if err != nil {
			return
		}
		added := 0
		for _, l := range lines {
			if l.Number < 1 || strings.Contains(l.Text, "\n") || !strings.Contains(patch, l.Text) {
				t.Fatalf("%+v of %q", l, patch)
			}
			if l.Added {
				added++
			}
		}
		if added > strings.Count(patch, "+") || len(lines) > strings.Count(patch, "\n")+1 {
			t.Fatalf("%d lines of %q", len(lines), patch)
		}
	})
}
