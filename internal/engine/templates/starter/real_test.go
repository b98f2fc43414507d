package starter_test

import (
	"expvar"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"testing"
)

// TestRealServers runs the catalogue against software that is here to be run, so that
// its templates rest on more than our case files.
func TestRealServers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/notes.txt", []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.Handle("/debug/vars", expvar.Handler())

	_, events := scan(t, newEngine(t), serve(t, mux), compile(t, templates(t)...)...)
	var found []string
	for _, ev := range events {
		found = append(found, ev.TemplateID)
	}
	slices.Sort(found)
	if want := []string{"vedette-debug-go-expvar", "vedette-debug-go-pprof", "vedette-listing-go"}; !slices.Equal(found,
		want) {
		t.Errorf("found %q, not %q", found, want)
	}
}
