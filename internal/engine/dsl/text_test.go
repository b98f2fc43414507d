package dsl_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// What a text becomes (template language 6.4), and whether it may be sent (6.5).
func TestRender(t *testing.T) {
	const unresolved, failed = "unresolved", "failed"
	values := map[string]any{
		"a": "1", "b": "{{a}}", "x-y": "2", "user": "bob", "n": 42.0, "list": []string{"p", "q"}, "odd key": "odd",
		"none": nil, "bytes": []byte("raw"),
		"interactsh-url": "oast.test", "interactsh-url_1": "one.oast.test",
	}
	for _, c := range []struct{ text, want, verdict string }{
		{"", "", ""}, {"plain", "plain", ""}, {"{{a}}", "1", ""}, {"<{{a}}{{ b }}>", "<1{{a}}>", ""},
		{"{{n}}{{bytes}}{{none}}{{list}}", "42raw[p q]", ""},
		{"§a§ § §b§x", "1 § {{a}}x", ""}, {"§zzz§", "§zzz§", ""}, {"{{odd key}}", "odd", ""}, {"{{", "{{", ""},
		{"{{a", "{{a", ""}, {"a}}", "a}}", ""},
		{`{"a":{"b":"{{a}}"}}`, `{"a":{"b":"1"}}`, ""}, {"${{a}}", "$1", ""}, {"{{{{a}}*{{n}}}}", "{{1*42}}", ""},
		{"{{{{a}}*{{user}}}}", "{{1*bob}}", unresolved},
		// Expressions, and what only looks like one.
		{"{{md5(user)}}", "9f9d51bc70ef21ca5c14f307980a29d8", ""}, {"{{x-y}}", "2", ""}, {"{{user + n}}", "bob42", ""},
		{"{{n == 42}}", "true", ""}, {"{{7*7}}", "{{7*7}}", ""}, {"{{'z'}}", "{{'z'}}", ""},
		{"{{base64(\"{{user}}:{{n}}\")}}", "Ym9iOjQy", ""}, {"{{base64('§user§')}}", "Ym9i", ""},
		{"{{md5(concat(user, \"{{n}}\"))}}", "3ed2aabd63bc85bad10acb2f73d35072", ""},
		{"{{replace('}}', '}', 'x')}}", "xx", ""}, {"{{concat('{{', user)}}", "{{bob", ""},
		{"{{url_encode('{{7*7}}')}}", "%7B%7B7*7%7D%7D", ""}, {"{{to_upper('{{zzz}}')}}", "{{ZZZ}}", unresolved},
		{"me@{{ user }}", "me@bob", ""}, {"{{''.__class__}}", "{{''.__class__}}", unresolved},
		{"{{config.items()}}", "{{config.items()}}", unresolved}, {"{%7B%7Bx%7D%7D", "{%7B%7Bx%7D%7D", unresolved},
		// No value.
		{"{{zzz}}", "{{zzz}}", unresolved}, {"{{x-y}}{{zzz}}", "2{{zzz}}", unresolved},
		{"{{}} {{ }} {{{}}}", "{{}} {{ }} {{{}}}", ""}, {"{{md5(zzz)}}", "{{md5(zzz)}}", failed},
		{"{{username}}", "{{username}}", failed},
		{"{{md5}}", "{{md5}}", failed}, {"{{md5}} {{a}}", "{{md5}} 1", failed}, {"{{user.Name}}", "{{user.Name}}", failed},
		{"{{zz.Kk}}", "{{zz.Kk}}", ""},
		// Out-of-band markers.
		{"{{interactsh-url}}", "oast.test", ""}, {"%7B%7Binteractsh-url%7D%7D", "oast.test", ""},
		{"{{interactsh-url_1}}", "one.oast.test", ""}, {"{{interactsh-url_9}}", "{{interactsh-url_9}}", unresolved},
		{"{{base64('{{interactsh-url}}')}}", "b2FzdC50ZXN0", ""},
	} {
		text := dsl.Parse(c.text)
		got, err := text.Render(&dsl.Env{Vars: dsl.Map(values)})
		verdict := ""
		if _, is := errors.AsType[*dsl.Unresolved](err); is {
			verdict = unresolved
		} else if err != nil {
			verdict = failed
		}
		if got != c.want || verdict != c.verdict {
			t.Errorf("%s: %q, %v; want %q %s", c.text, got, err, c.want, c.verdict)
		}
		if text.String() != c.text {
			t.Errorf("%q is written as %q", c.text, text.String())
		}
	}
}

// Whatever a value is, it goes in as it is, and nothing is made of it.
func TestValuesAreData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"{{b}}", "{{md5('x')}}", "§b§", "}}", "{{", "%7B%7Bq%7D%7D",
			"{{interactsh-url}}", "{{q}}", "'", "\\", "\""}).Draw(t, "one") +
			rapid.StringMatching(`[a{}§'"]{0,4}`).Draw(t, "two")
		vars := dsl.Map(map[string]string{"v": value, "b": "B", "interactsh-url": "oast"})
		for _, text := range []dsl.Text{dsl.Parse("<{{v}}|§v§>"), dsl.Parse("<{{concat(v)}}|{{concat('{{v}}')}}>"),
			dsl.Parse("<{{v}}|{{v}}>").Bind(vars)} {
			got, err := text.Render(&dsl.Env{Vars: vars})
			if want := "<" + value + "|" + value + ">"; got != want || err != nil {
				t.Fatalf("%s: %q, %v; want %q", text, got, err, want)
			}
		}
		if got, err := literal(value).Render(nil); got != value || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// A variable whose own rendering failed keeps what uses it from being sent.
func TestRaw(t *testing.T) {
	vars := dsl.Map(map[string]any{"v": dsl.Raw("{{zzz}}"), "plain": dsl.Raw("no marker")})
	for text, want := range map[string]string{"{{v}}": "{{zzz}}", "{{md5(v)}}": "{{md5(v)}}", "{{v + 'x'}}": "{{zzz}}x",
		"{{plain}}": "no marker"} {
		for _, parsed := range []dsl.Text{dsl.Parse(text), dsl.Parse(text).Bind(vars)} {
			got, err := parsed.Render(&dsl.Env{Vars: vars})
			_, stays := errors.AsType[*dsl.Unresolved](err)
			if got != want || stays != (text != "{{plain}}") {
				t.Errorf("%s: %q, %v", text, got, err)
			}
		}
	}
}

func TestBindStepByStep(t *testing.T) {
	text := dsl.Parse("{{a}}/{{host}}/{{a}}/{{b}}/{{md5(a)}}/{{to_upper(host + b)}}")
	inner := dsl.Parse("<{{host}}>")
	bound := text.Bind(func(name string) (any, bool) {
		switch name {
		case "a":
			return "{{b}}", true // looks like a placeholder, is none
		case "b":
			return inner, true
		}
		return nil, false
	})
	if names := bound.Names(); !slices.Equal(names, []string{"host"}) {
		t.Errorf("open: %q", names)
	}
	if _, ok := bound.Const(); ok {
		t.Error("an open text is constant")
	}
	got, err := bound.Render(&dsl.Env{Vars: dsl.Map(map[string]string{"host": "h", "a": "no", "b": "no"})})
	if got != "{{b}}/h/{{b}}/<h>/bd716cd35f3f7d71ccd191ac5738e8aa/H<H>" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := bound.Render(nil); err == nil {
		t.Error("a text without its host is whole")
	}
	if text.String() != "{{a}}/{{host}}/{{a}}/{{b}}/{{md5(a)}}/{{to_upper(host + b)}}" {
		t.Error("binding changed the text it began with")
	}
	whole := bound.Bind(dsl.Map(map[string]string{"host": "h"}))
	if s, ok := dsl.Parse("{{md5('a')}}-{{a}}").Bind(dsl.Map(map[string]string{"a": "A"})).Const(); !ok ||
		s != "0cc175b9c0f1b6a831c399e269772661-A" {
		t.Errorf("%q, %v", s, ok)
	}
	if again, err := whole.Render(nil); again != got || err != nil {
		t.Errorf("%q in two steps, %q in one, %v", again, got, err)
	}
}

// A random expression is worked out when the text is rendered, each time.
func TestBindKeepsChance(t *testing.T) {
	text := dsl.Parse("{{rand_base(n)}}").Bind(dsl.Map(map[string]int{"n": 30}))
	if _, ok := text.Const(); ok || text.Pure() {
		t.Fatal("a random text is constant")
	}
	a, errA := text.Render(nil)
	b, errB := text.Render(nil)
	if a == b || len(a) != 30 || errA != nil || errB != nil {
		t.Errorf("%q, %q, %v, %v", a, b, errA, errB)
	}
}

// A variable that stands for itself is an error, not the end.
func TestVariableOfItself(t *testing.T) {
	vars := dsl.Map(map[string]dsl.Text{"a": dsl.Parse("{{b}}"), "b": dsl.Parse("{{concat(a)}}"), "c": dsl.Parse("{{d}}"),
		"d": literal("D")})
	if s, err := dsl.Parse("{{a}}").Render(&dsl.Env{Vars: vars}); err == nil {
		t.Errorf("%.60q", s)
	}
	if s, err := dsl.Parse("{{c}}").Render(&dsl.Env{Vars: vars}); s != "D" || err != nil {
		t.Errorf("%q, %v", s, err)
	}
}

func TestTextErr(t *testing.T) {
	if _, ok := errors.AsType[*dsl.Unsupported](dsl.Parse("x{{generate_java_gadget('dns', 'a', 'raw')}}").Err()); !ok {
		t.Error("a gadget goes unnoticed")
	}
	if err := dsl.Parse("{{md5(a)}}{{zzz}}{{").Err(); err != nil {
		t.Error(err)
	}
}

// Keys are equal for equal meaning only.
func TestKey(t *testing.T) {
	open := dsl.Parse("a{{x}}")
	if open.Key() != dsl.Parse("a{{ x }}").Key() {
		t.Error("the same text in two spellings has two keys")
	}
	if dsl.Parse("{{x}}").Key() == literal("x").Key() {
		t.Error("a variable has the key of a literal")
	}
	if literal("abc").Key() != dsl.Parse("a{{x}}c").Bind(dsl.Map(map[string]string{"x": "b"})).Key() {
		t.Error("how a text came to be is in its key")
	}
	if dsl.Parse("{{md5(x)}}").Key() == dsl.Parse("{{md5(x + y)}}").Key() ||
		dsl.Parse("{{x + y}}").Bind(dsl.Map(map[string]string{"x": "b"})).Key() == dsl.Parse("{{x + y}}").Key() {
		t.Error("two expressions have one key")
	}
	for _, other := range []dsl.Text{literal("a{{x}}"), literal("a"), {}} {
		if open.Key() == other.Key() {
			t.Errorf("%q has the key of %q", other, open)
		}
	}
}

// literal is a Text whose only part is a value.
func literal(s string) dsl.Text { return dsl.Parse("{{v}}").Bind(dsl.Map(map[string]string{"v": s})) }
