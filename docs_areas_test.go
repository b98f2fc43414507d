package vedette_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	areaRow  = regexp.MustCompile("(?m)^\\| ([^|]+) \\| \\[[^]]+\\]\\(\\.\\./use/([a-z-]+\\.md)\\) \\| `([a-z-]+)` \\| `(/[^`]+)` \\| (.+) \\|$")
	ranBlock = regexp.MustCompile("(?ms)^ *```(?:sh|console)(?: exit=[0-9]+)?\n(.*?)^ *```$") // those that TestDocs of e2e runs
	tagLine  = regexp.MustCompile(`(?m)^      tags:\n        - (.+)$`)
)

// TestAreas: each area of the agent API has a page whose examples are run, through the API and on the command line, a
// story, a screen, and a journey that comes there (docs/reference/areas.md).
func TestAreas(t *testing.T) {
	all := pages(t)
	rows := areaRow.FindAllStringSubmatch(all["docs/reference/areas.md"], -1)
	known, journeys := map[string]bool{}, journeyTexts(t)
	for _, row := range rows {
		area, page, story, screen, journey := row[1], row[2], row[3], row[4], row[5]
		known[area] = true
		ran := ""
		for _, block := range ranBlock.FindAllStringSubmatch(all["docs/use/"+page], -1) {
			ran += block[1]
		}
		for _, command := range []string{"curl ", "vedette "} {
			if !strings.Contains(ran, command) {
				t.Errorf("%s: no example in %s runs %s", area, page, command)
			}
		}
		if _, err := os.Stat("api/stories/" + story + ".txtar"); err != nil {
			t.Errorf("%s: %v", area, err)
		}
		if !isScreen(t, screen) {
			t.Errorf("%s: the console has no screen %s", area, screen)
		}
		last := screen[strings.LastIndex(screen, "/")+1:]
		text, is := journeys[journey]
		if !is || !strings.Contains(strings.ToLower(text), last) {
			t.Errorf("%s: there is no journey %q, or it does not come to %s", area, journey, screen)
		}
	}
	contract, err := os.ReadFile("api/agent.openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tags := tagLine.FindAllStringSubmatch(string(contract), -1)
	if len(rows) < 30 || len(tags) < 100 {
		t.Fatalf("%d rows, %d tags", len(rows), len(tags))
	}
	for _, tag := range tags {
		if !known[tag[1]] {
			t.Errorf("the area %s has no row", tag[1])
			known[tag[1]] = true
		}
	}
}

// isScreen reports whether the console has a screen at a path.
func isScreen(t *testing.T, path string) bool {
	t.Helper()
	file, mark := "web/src/router.tsx", "path: '"+path+"'"
	if name, is := strings.CutPrefix(path, "/settings/"); is {
		file, mark = "web/src/screens/settings/index.tsx", "\n  "+name+": {"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), mark)
}

// journeyTexts are the journeys of the browser tests by their names.
func journeyTexts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("web/e2e/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\njourney('")[1:] {
			name, body, _ := strings.Cut(part, "', async")
			out[strings.ReplaceAll(name, `\'`, "'")] = body
		}
	}
	return out
}
