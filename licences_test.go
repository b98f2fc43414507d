package vedette_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowedLicences are those under which a module may be part of the binary: who gets it has to publish nothing of
// their own (the Mozilla licence covers changes to the module's own files only). Each is known by words of its text.
var allowedLicences = map[string]string{
	"MIT":       "permission is hereby granted, free of charge, to any person obtaining a copy",
	"BSD":       "redistribution and use in source and binary forms, with or without modification",
	"ISC":       "distribute this software for any purpose with or without fee is hereby granted",
	"Apache":    "apache license version 2.0",
	"Mozilla":   "mozilla public license version 2.0",
	"CC0":       "cc0 1.0 universal",
	"Unlicense": "this is free and unencumbered software released into the public domain",
}

// TestLicences: each module in the binary has a licence, and it is one of allowedLicences.
func TestLicences(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./cmd/vedette").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?i)^(un)?li[cs]en[cs]e|^copying`)
	plain := strings.NewReplacer(">", "", "License, ", "License ")
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		module, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if dir == "" || seen[module] || module == "github.com/vedette-sec/vedette" {
			continue
		}
		seen[module] = true
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		var text strings.Builder
		for _, f := range files {
			if f.IsDir() || !name.MatchString(f.Name()) {
				continue
			}
			part, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Error(err)
			}
			text.WriteString(strings.ToLower(strings.Join(strings.Fields(plain.Replace(string(part))), " ")))
		}
		known := slices.ContainsFunc(slices.Collect(maps.Values(allowedLicences)),
			func(words string) bool { return strings.Contains(text.String(), words) })
		if gnu := strings.Contains(text.String()[:min(200, text.Len())], "gnu "); !known || gnu {
			t.Errorf("%s: %.200s", module, text.String())
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d modules were looked at", len(seen))
	}
}
