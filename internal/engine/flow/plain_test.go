package flow

import "testing"

// A script is plain only if it cannot reach what bounds guard.
func TestPlainScripts(t *testing.T) {
	for source, want := range map[string]bool{
		"for (let p of iterate(template.project)) { set('project', p); http(2) }": true,
		"if (http(1)) { for (let v of template['names']) { set('v', v) } }":       true,
		"let d = new Dedupe(); d.Add(template.a); d.Values().length":              true,
		"let n = 0; while (n < 3) { n++; http(1) }":                               true,
		"(function(){}).constructor('x')":                                         false,
		"(() => 1)['const' + 'ructor']('x')":                                      false,
		"let template = () => 1; template['constructor']('x')":                    false,
		"let f = (template) => template['constructor']; f(f)":                     false,
		"function template() {} template['constructor']('x')":                     false,
		"template = [].map; template.constructor('x')":                            false,
		"let {constructor} = http":                                                false,
		"let o = {Array}; http(1)":                                                false,
		"let a = []; a.length = 4294967295":                                       false,
		"let a = []; a.length++":                                                  false,
		"let a = []; a[4294967290] = 1":                                           false,
		"this.JSON":                                                               false,
		"constructor.assign":                                                      false,
		"new ArrayBuffer(9)":                                                      false,
		"[...template.a]":                                                         false,
		"'x'.repeat(9)":                                                           false,
		"/a/.test('a')":                                                           false,
		"with (http) { constructor('x') }":                                        false,
	} {
		p, err := Compile(source, []string{"http"})
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if p.plain != want {
			t.Errorf("%s: plain is %v", source, p.plain)
		}
	}
}
