package tools

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// Methods are the HTTP methods of a template, with those that servers may take instead.
func Methods(t *syntax.Template) (out []string) {
	add := func(method string) {
		if method = strings.ToUpper(method); !slices.Contains(out, method) {
			out = append(out, method)
		}
	}
	for _, block := range t.HTTP {
		for _, raw := range block.Raw {
			if first := strings.Fields(withoutAnnotations(raw)); len(first) > 0 {
				add(first[0])
			}
		}
		for _, text := range slices.Concat(block.Raw, block.Path, []string{block.Body}) {
			for _, method := range textOverrides(text) {
				add(method)
			}
		}
		for _, h := range block.Headers {
			for _, method := range headerOverrides(h.Name, h.Value) {
				add(method)
			}
		}
		switch {
		case block.Method != "":
			add(block.Method)
		case len(block.Raw) == 0:
			add(http.MethodGet)
		}
	}
	return out
}

// withoutAnnotations is a raw request without its @ lines, which say how to send it.
func withoutAnnotations(raw string) string {
	for strings.HasPrefix(strings.TrimSpace(raw), "@") {
		_, raw, _ = strings.Cut(strings.TrimSpace(raw), "\n")
	}
	return raw
}

// readsOnly reports whether a template only reads: no payloads, no fuzzing, and safe methods or DNS and TLS.
func readsOnly(t *syntax.Template) bool {
	if len(t.TCP)+len(t.Websocket)+len(t.JavaScript)+len(t.Headless)+len(t.Code)+len(t.Workflows) > 0 || t.Flow != "" {
		return false
	}
	for _, block := range t.HTTP {
		if len(block.Fuzzing) > 0 || len(block.Payloads) > 0 || block.Unsafe || block.Race {
			return false
		}
	}
	return !slices.ContainsFunc(Methods(t), func(m string) bool { return !scope.ReadOnly(m) })
}

// AllowsMethods reports whether a scope allows the methods of a template.
func AllowsMethods(doc task.Scope, t *syntax.Template) bool {
	return len(doc.Methods) == 0 || !slices.ContainsFunc(Methods(t),
		func(m string) bool { return !slices.Contains(doc.Methods, m) })
}
