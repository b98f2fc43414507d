package bench

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
)

// suiteKinds are the classes of the suite.
func suiteKinds() []kind {
	five := []string{"query", "form", "header", "cookie", "name"}
	return []kind{
		{"sql", "anna", five, []sink{sqlText, sqlQuiet, sqlLogin}, []sink{sqlBound, sqlDoubled}, "zzz' OR name='root", "root@lab|Welcome, root"},
		{"xss", "bar", []string{"query", "form", "header", "name"}, []sink{xssText, xssAttribute, xssScript}, []sink{xssEncoded, xssPlain},
			`'"-><b>q7`, `[^;]><b>q7`},
		{"command", "lab.example", five, []sink{commandText, commandQuoted}, []sink{commandArgument, commandListed}, "$(expr 7 '*' 191)", "1337"},
		{"path", "readme.txt", five, []sink{pathRead, pathLines}, []sink{pathBase}, up + "etc/passwd", "root:x:0:0"},
		{"xpath", "0001", five, []sink{xpathID, xpathPlace}, []sink{xpathQuoted, xpathListed}, "zzz' or name='root", "root"},
	}
}

func sqlText(s *site, w http.ResponseWriter, r *http.Request, in string) {
	s.goods(w, r, "SELECT name, mail FROM members WHERE name = '"+in+"'", failings()[0].answer)
}

func sqlQuiet(s *site, w http.ResponseWriter, r *http.Request, in string) {
	s.goods(w, r, "SELECT name, mail FROM members WHERE role <> '' AND (name = '"+in+"')", failings()[3].answer)
}

func sqlLogin(s *site, w http.ResponseWriter, r *http.Request, in string) {
	s.welcome(w, r, "SELECT name FROM members WHERE pass = 'none' AND mail = '' AND name = '"+in+"'", failings()[1].answer)
}

func sqlBound(s *site, w http.ResponseWriter, r *http.Request, in string) {
	s.goods(w, r, "SELECT name, mail FROM members WHERE name = ?", failings()[0].answer, in)
}

func sqlDoubled(s *site, w http.ResponseWriter, r *http.Request, in string) {
	sqlText(s, w, r, strings.ReplaceAll(strings.ReplaceAll(in, "\x00", ""), "'", "''"))
}

func xssText(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	write(w, 200, htmlType, fmt.Sprintf("<html><body>Formatted like: %1s and %s.</body></html>", "a", in))
}

func xssAttribute(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	show(w, 200, "Parameter", `<div title="`+in+`">Parameter value</div>`)
}

func xssScript(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	show(w, 200, "Parameter", "<script>var value = '"+in+"';</script>")
}

func xssEncoded(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	show(w, 200, "Parameter", `<div title="`+enc(in)+`">Parameter value: `+enc(in)+"</div>")
}

func xssPlain(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	write(w, 200, "text/plain; charset=utf-8", "Parameter value: "+enc(in)+"\n")
}

func commandText(_ *site, w http.ResponseWriter, r *http.Request, in string) {
	show(w, 200, "Command", "<pre>"+enc(shell(r, "echo looked up "+in))+"</pre>")
}

func commandQuoted(_ *site, w http.ResponseWriter, r *http.Request, in string) {
	show(w, 200, "Command", "<pre>"+enc(shell(r, `echo "looked up `+in+`"`))+"</pre>")
}

func commandArgument(_ *site, w http.ResponseWriter, r *http.Request, in string) {
	out, _ := exec.CommandContext(r.Context(), "echo", "looked up "+strings.ReplaceAll(in, "\x00", "")).Output() // shown as it is
	show(w, 200, "Command", "<pre>"+enc(string(out))+"</pre>")
}

func commandListed(s *site, w http.ResponseWriter, r *http.Request, in string) {
	if in != "lab.example" {
		in = "nobody"
	}
	commandText(s, w, r, in)
}

func pathRead(s *site, w http.ResponseWriter, _ *http.Request, in string) {
	text, err := readFile(s.files + "/docs/" + in)
	if err != nil {
		show(w, 500, "File", "<p>There is a problem with the file "+enc(in)+"</p>")
		return
	}
	show(w, 200, "File", "<p>The beginning of the file is:</p><pre>"+enc(text)+"</pre>")
}

func pathLines(s *site, w http.ResponseWriter, _ *http.Request, in string) {
	text, err := readFile(s.files + "/docs/pages/../" + in)
	if err != nil {
		show(w, 200, "File", "<p>The file cannot be read.</p>")
		return
	}
	first, _, _ := strings.Cut(text, "\n")
	show(w, 200, "File", "<p>It begins with: "+enc(first)+"</p>")
}

func pathBase(s *site, w http.ResponseWriter, r *http.Request, in string) {
	pathRead(s, w, r, filepath.Base(filepath.Clean("/"+in)))
}

func xpathID(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	selected(w, "/employees/employee[@id='"+in+"']/name")
}

func xpathPlace(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	selected(w, "//employee[seat!='' and (@id='"+in+"')]/name")
}

func xpathQuoted(s *site, w http.ResponseWriter, r *http.Request, in string) {
	xpathID(s, w, r, strings.NewReplacer("'", "", `"`, "").Replace(in))
}

func xpathListed(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
	names := map[string]string{"0001": "anna", "0002": "ben"}
	show(w, 200, "Staff", "<p>Your query selects: "+names[in]+"</p>")
}
