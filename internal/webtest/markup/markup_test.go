package markup_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"pgregory.net/rapid"
)

func TestFind(t *testing.T) {
	for document, want := range map[string]markup.Context{
		`<p>x1y2</p>`:                                     {Kind: markup.Text},
		`<title>x1y2</title>`:                             {Kind: markup.Raw, Tag: "title"},
		`<!-- x1y2 -->`:                                   {Kind: markup.Comment},
		`<input value="x1y2">`:                            {Kind: markup.Value, Tag: "input", Attr: "value", Quote: `"`},
		`<input value='a x1y2'>`:                          {Kind: markup.Value, Tag: "input", Attr: "value", Quote: `'`},
		`<input value=x1y2>`:                              {Kind: markup.Value, Tag: "input", Attr: "value"},
		`<input x1y2>`:                                    {Kind: markup.Name, Tag: "input"},
		`<x1y2>`:                                          {Kind: markup.TagName, Tag: "x1y2"},
		`<a href="x1y2">`:                                 {Kind: markup.Address, Tag: "a", Attr: "href", Quote: `"`, Start: true},
		`<a href="/x1y2">`:                                {Kind: markup.Address, Tag: "a", Attr: "href", Quote: `"`},
		`<img onerror="f('x1y2')">`:                       {Kind: markup.Handler, Tag: "img", Attr: "onerror", Quote: `"`, State: markup.SingleQuoted},
		`<script>var a = "x1y2";</script>`:                {Kind: markup.Script, Tag: "script", State: markup.DoubleQuoted},
		`<script>var a = x1y2;</script>`:                  {Kind: markup.Script, Tag: "script", State: markup.Code},
		"<script>var a = `x1y2`;</script>":                {Kind: markup.Script, Tag: "script", State: markup.Template},
		"<script>var a = `${'x1y2'}`;</script>":           {Kind: markup.Script, Tag: "script", State: markup.SingleQuoted},
		`<script>a() // x1y2</script>`:                    {Kind: markup.Script, Tag: "script", State: markup.LineComment},
		`<script>/* x1y2 */</script>`:                     {Kind: markup.Script, Tag: "script", State: markup.BlockComment},
		`<script>a = /x1y2/</script>`:                     {Kind: markup.Script, Tag: "script", State: markup.Pattern},
		`<script>a = 4 / 2; b = 'x1y2/'</script>`:         {Kind: markup.Script, Tag: "script", State: markup.SingleQuoted},
		`<script type="application/json">"x1y2"</script>`: {Kind: markup.Data, Tag: "script", State: markup.DoubleQuoted},
		`<script language="vbscript">a = "x1y2"</script>`: {Kind: markup.Script, Tag: "script", State: markup.DoubleQuoted, Basic: true},
		`<style>a{b:x1y2}</style>`:                        {Kind: markup.Raw, Tag: "style"},
	} {
		got := markup.Find(document, "x1y2")
		if len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s\n got %+v\nwant %+v", document, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	for document, want := range map[string]bool{
		`<svg onload=q7()>`:                                  true,
		`<p>&lt;svg onload=q7()></p>`:                        false,
		`<input value="<svg onload=q7()>">`:                  false,
		`<input value='"><svg onload=q7()>'>`:                false,
		`<input value=""><svg onload=q7()>">`:                true,
		`<textarea><svg onload=q7()></textarea>`:             false,
		`<textarea></textarea><svg onload=q7()></textarea>`:  true,
		`<title><script>q7()</script></title>`:               false,
		`<!-- <script>q7()</script> -->`:                     false,
		`<script>var a = 'q7()';</script>`:                   false,
		`<script>var a = ''-q7()-'';</script>`:               true,
		`<script>var a = '\'-q7()-'';</script>`:              false,
		`<script>var a = '\\'-q7()//';</script>`:             true,
		`<script>// q7()</script>`:                           false,
		"<script>// \nq7()//</script>":                       true,
		"<script>`${q7()}`</script>":                         true,
		"<script>`q7()`</script>":                            false,
		`<script>f(q7();</script>`:                           false,
		`<script type="application/json">q7()</script>`:      false,
		`<script type="text/template">q7()</script>`:         false,
		`<a href="javascript:q7()">`:                         true,
		`<a href=" java&#9;script&colon;q7()">`:              true,
		`<a href="/javascript:q7()">`:                        false,
		`<img src="javascript:q7()">`:                        false,
		`<img onerror="f('&#39;-q7()-&#39;')">`:              true,
		`<img onerror="f('&amp;#39;-q7()-&amp;#39;')">`:      false,
		`<iframe srcdoc="&lt;svg onload=q7()&gt;"></iframe>`: true,
		`<template><svg onload=q7()></template>`:             false,
		`<p title=a onmouseover=q7() b>`:                     true,
		`<p title="a onmouseover=q7()">`:                     false,
		`<div data-x=q7()>`:                                  false,
		`<script>q7</script>`:                                false,
	} {
		if _, got := markup.Runs(document, "q7"); got != want {
			t.Errorf("%s: runs %v, want %v", document, got, want)
		}
	}
}

func TestClickIsNoted(t *testing.T) {
	if r, _ := markup.Runs(`<a href="javascript:q7()">`, "q7"); !r.Click {
		t.Error("a link runs without a click")
	}
	if r, _ := markup.Runs(`<a href="javascript:q7()"><svg onload=q7()>`, "q7"); r.Click {
		t.Error("the script that needs nobody is not the best")
	}
}

// Text escaped as every framework does it never runs, wherever in a quoted attribute or a text it is shown.
func TestEscapedTextNeverRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z<>"'&/= ();-]{0,20}q7\(\)[a-z<>"'&/= ();-]{0,20}`).Draw(t, "text")
		for _, page := range []string{"<p>" + escape(text) + "</p>", `<input value="` + escape(text) + `">`,
			`<input value='` + escape(text) + `'>`, "<title>" + escape(text) + "</title>"} {
			if _, ok := markup.Runs(page, "q7"); ok {
				t.Fatalf("runs: %s", page)
			}
		}
	})
}

func escape(s string) string {
	out := ""
	for _, r := range s {
		switch r {
		case '<':
			out += "&lt;"
		case '>':
			out += "&gt;"
		case '&':
			out += "&amp;"
		case '"':
			out += "&#34;"
		case '\'':
			out += "&#39;"
		default:
			out += string(r)
		}
	}
	return out
}

func FuzzWalk(f *testing.F) {
	f.Add("<a href=javascript:q7()><script>`${`${q7}`}`</script><iframe srcdoc='<p q7'>")
	f.Fuzz(func(_ *testing.T, document string) {
		markup.Find(document, "q7")
		markup.Runs(document, "q7")
	})
}

func TestDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		page, script, want string
	}{
		"an example":          {`<p>Send</p><pre>&lt;order&gt;&lt;pen&gt;2&lt;/pen&gt;&lt;/order&gt;</pre>`, "", "<order><pen>2</pen></order>"},
		"coloured":            {`<pre><code><b>&lt;row</b>&gt;x&lt;/row&gt;</code></pre>`, "", "<row>x</row>"},
		"in a field":          {`<textarea id=x>&lt;s:E xmlns:s="u"&gt;&lt;City&gt;Oslo&lt;/City&gt;&lt;/s:E&gt;</textarea>`, "", `<s:E xmlns:s="u"><City>Oslo</City></s:E>`},
		"in a script":         {"", "const d = `<order><pen>${n}</pen></order>`;", "<order><pen>1</pen></order>"},
		"in quotes":           {"", `send("<?xml version=\"1.0\"?><order>\n<pen>1</pen></order>")`, "<?xml version=\"1.0\"?><order>\n<pen>1</pen></order>"},
		"of HTML":             {`<pre>&lt;div&gt;x&lt;/div&gt;</pre>`, "x.innerHTML = '<li>one</li>'", ""},
		"without texts":       {`<pre>&lt;order/&gt;</pre>`, "", ""},
		"not well formed":     {`<pre>&lt;order&gt;x</pre>`, "f('<order>' + x + '</order>')", ""},
		"two roots, and text": {`<pre>&lt;one&gt;x&lt;/one&gt;&lt;two&gt;y&lt;/two&gt;</pre><pre>see &lt;one&gt;x&lt;/one&gt;</pre>`, "", ""},
	} {
		all := append(markup.Documents(c.page), markup.DocumentsOfScript(c.script)...)
		if got := strings.Join(all, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
