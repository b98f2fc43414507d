package code

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func run(t *testing.T, s syntax.Code, files bool) (*proto.Reply, error) {
	t.Helper()
	p, err := Compile("t.yaml", &s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &proto.Env{Input: "http://a.test", Timeout: 10 * time.Second, Files: files, Vars: func(rawurl.URL) *dsl.Env {
		return &dsl.Env{Vars: dsl.Map(map[string]string{"Hostname": "a.test", "secret": "s", "PATH": "/evil"})}
	}}
	var got *proto.Reply
	err = p.Run(t.Context(), env, func(r *proto.Reply) bool { got = r; return true })
	if err != nil && strings.Contains(err.Error(), "namespaces") {
		t.Skip(err)
	}
	return got, err
}

func TestRun(t *testing.T) {
	got, err := run(t, syntax.Code{Engine: []string{"no-such-program", "sh"}, Pattern: "*.sh", Args: []string{"-e"},
		Source:       "read -r in || true; echo \"$in $Hostname ${secret} $unknown\"; echo $PATH >&2; basename $0\n",
		PreCondition: "IsLinux() && OS() == 'linux' && !IsWindows()"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if got.Response != "http://a.test a.test s \nprogram.sh" || got.Fields["response"] != got.Response ||
		strings.Contains(got.Fields["stderr"].(string), "evil") {
		t.Errorf("%q %q", got.Response, got.Fields)
	}
}

// What does not run says why.
func TestNotRun(t *testing.T) {
	sh := []string{"sh"}
	for want, c := range map[string]struct {
		block syntax.Code
		files bool
	}{
		"are not run here":                  {syntax.Code{Engine: sh, Source: "id"}, false},
		"none of the programs is installed": {syntax.Code{Engine: []string{"no-such-program"}, Source: "id"}, true},
		"pre-condition does not hold":       {syntax.Code{Engine: sh, Source: "id", PreCondition: "IsWindows()"}, true},
	} {
		got, err := run(t, c.block, c.files)
		if got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	for want, block := range map[string]syntax.Code{
		"code.engine":    {Source: "id"},
		"code.source":    {Engine: sh},
		"without a path": {Engine: []string{"/bin/sh"}, Source: "id"},
		"sandbox":        {Engine: sh, Source: "id", Sandbox: &syntax.Sandbox{Image: "x"}},
	} {
		if _, err := Compile("t.yaml", &block, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A program that lies where the user nobody cannot start it is not run, and the reason names it, even where another one
// is not there at all.
func TestUnreachableProgram(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("programs run as this user")
	}
	folder := t.TempDir() // for its owner alone
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "hidden"), []byte("#!/bin/sh\necho ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	got, err := run(t, syntax.Code{Engine: []string{"hidden", "no-such-program"}, Source: "id"}, true)
	if got != nil || err == nil || !strings.Contains(err.Error(), "hidden cannot be run: it lies where") {
		t.Errorf("%v %v", got, err)
	}
}
