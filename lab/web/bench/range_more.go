package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

func redirectPages() (all []page) { //nolint:funlen // a table
	one := func(folder, name, value string, weak bool, check func(r *http.Request, in string) string, send func(w http.ResponseWriter, r *http.Request, to string),
		proof, expect string) {
		all = append(all, page{folder: folder, name: name, class: "redirect", weak: weak, param: "target", value: value, proof: proof, expect: expect,
			serve: func(_ *site, w http.ResponseWriter, r *http.Request, in string) {
				if in = check(r, in); in == "" {
					show(w, 200, "Elsewhere", "<p>We do not go there.</p>")
					return
				}
				send(w, r, in)
			}})
	}
	header := func(status int) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, _ *http.Request, to string) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	}
	meta := func(w http.ResponseWriter, _ *http.Request, to string) {
		write(w, 200, htmlType, doc("Elsewhere", `<meta http-equiv="refresh" content="0;url=`+enc(to)+`">`, "<p>One moment.</p>"))
	}
	script := func(w http.ResponseWriter, _ *http.Request, to string) {
		text := strings.NewReplacer(`\`, `\\`, `"`, `\x22`, "<", `\x3c`, "\n", "", "\r", "", "\u2028", "", "\u2029", "").Replace(to)
		if !strings.HasPrefix(to, "http") && !strings.HasPrefix(to, "/") { // no scripts
			text = "/"
		}
		show(w, 200, "Elsewhere", `<script>window.location = "`+text+`";</script>`)
	}
	refresh := func(w http.ResponseWriter, _ *http.Request, to string) {
		w.Header().Set("Refresh", "0; url="+to)
		show(w, 200, "Elsewhere", "<p>One moment.</p>")
	}
	as := func(_ *http.Request, in string) string { return in }
	local := func(_ *http.Request, in string) string {
		if !strings.HasPrefix(in, "/") {
			return ""
		}
		return in
	}
	const home, far, went = "/home.html", "http://q7.example/x", "Location: http://q7.example/x"
	one("redirects", "found", home, true, as, header(302), far, went)
	one("redirects", "moved", home, true, as, header(301), far, went)
	one("redirects", "see-other", "{self}/home.html", true, as, header(303), far, went)
	one("redirects", "temporary", home, true, as, header(307), far, went)
	one("redirects", "meta", home, true, as, meta, far, `content="0;url=http://q7`)
	one("redirects", "script", home, true, as, script, far, `location = "http://q7`)
	one("redirects", "refresh", home, true, as, refresh, far, "head: Refresh: 0; url=http://q7")
	one("redirects", "slash", home, true, local, header(302), "//q7.example/x", "Location: //q7")
	one("redirects", "no-double-slash", home, true, func(r *http.Request, in string) string {
		if strings.HasPrefix(in, "//") {
			return ""
		}
		return local(r, in)
	}, header(302), `/\q7.example/x`, `Location: /\\q7`)
	one("redirects", "scheme-dropped", home, true, func(_ *http.Request, in string) string { return strings.Replace(in, "http://", "", 1) }, header(302),
		"hthttp://tp://q7.example/x", went)
	one("redirects", "begins-with-host", "{self}/home.html", true, func(r *http.Request, in string) string {
		if !strings.HasPrefix(in, "http://"+strings.Split(r.Host, ":")[0]) {
			return ""
		}
		return in
	}, header(302), "http://127.0.0.1.q7.example/x", "Location: http://127.0.0.1.q7")
	one("redirects", "has-host", "{self}/home.html", true, func(r *http.Request, in string) string {
		if !strings.Contains(in, r.Host) {
			return ""
		}
		return in
	}, header(302), "http://q7.example/?127.0.0.1:{port}", "Location: http://q7.example/")
	looks := "redirects-looks"
	one(looks, "listed", "home", false, func(_ *http.Request, in string) string {
		return map[string]string{"home": "/home.html", "range": "/"}[in]
	}, header(302), far, "Location: http://q7")
	one(looks, "own-path", home, false, func(_ *http.Request, in string) string {
		if !regexp.MustCompile(`^/[\w.-]+(/[\w.-]+)*$`).MatchString(in) {
			return "/"
		}
		return in
	}, header(302), "//q7.example/x", "Location: //")
	one(looks, "own-host", "{self}/home.html", false, func(r *http.Request, in string) string {
		if u, err := url.Parse(in); err != nil || u.Scheme != "http" || u.Host != r.Host || u.User != nil || strings.Contains(in, `\`) {
			return ""
		}
		return in
	}, header(302), "http://q7.example/?127.0.0.1:{port}", "Location: http://q7")
	one(looks, "as-parameter", home, false, func(_ *http.Request, in string) string { return "/home.html?from=" + url.QueryEscape(in) }, header(302), far, went)
	one(looks, "meta-listed", "home", false, func(_ *http.Request, _ string) string { return "/home.html" }, meta, far, "url=http")
	one(looks, "text", home, false, as, func(w http.ResponseWriter, _ *http.Request, to string) {
		show(w, 200, "Elsewhere", "<p>Location: you asked for <code>"+enc(to)+"</code>, which is not here.</p>")
	}, far, "\nLocation: http")
	return all
}

// shell is what a command of a shell writes.
func shell(r *http.Request, command string) string {
	ctx, cancel := context.WithTimeout(r.Context(), 15*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	out, _ := cmd.CombinedOutput() // what fails writes why
	return string(out[:min(len(out), 1<<14)])
}

func commandPages() (all []page) {
	one := func(folder, name string, weak bool, filter func(string) string, command string, seen bool, proof, expect string) {
		all = append(all, page{folder: folder, name: name, class: "command", weak: weak, param: "host", value: "lab.example", proof: proof, expect: expect,
			serve: func(_ *site, w http.ResponseWriter, r *http.Request, in string) {
				out := shell(r, strings.ReplaceAll(command, "@@", filter(in)))
				if !seen {
					out = "It was looked up."
				}
				show(w, 200, "Look-up", "<pre>"+enc(out)+"</pre>")
			}})
	}
	as := func(in string) string { return in }
	const bare, sum = "echo looking for @@", "$((7*191))"
	one("commands", "bare", true, as, bare, true, "x;expr 7 '*' 191", "1337")
	one("commands", "double-quoted", true, as, `echo "looking for @@"`, true, sum, "1337")
	one("commands", "single-quoted", true, as, `echo 'looking for @@'`, true, "x';expr 7 '*' '191", "1337")
	one("commands", "unseen", true, as, bare+" >/dev/null", false, "x;sleep 2;", "slow")
	one("commands", "without-semicolon", true, func(in string) string { return strings.ReplaceAll(in, ";", "") }, bare, true, "x|expr 7 '*' 191", "1337")
	one("commands", "without-blanks", true, func(in string) string { return strings.ReplaceAll(in, " ", "") }, bare, true, "x;expr\t7\t'*'\t191", "1337")
	one("commands", "without-signs", true, func(in string) string {
		return strings.NewReplacer(";", "", "|", "", "&", "", "$", "", "`", "").Replace(in)
	}, bare, true,
		"x\nexpr 7 '*' 191", "1337")
	one("commands", "quotes-dropped", true, func(in string) string { return strings.NewReplacer("'", "", `"`, "").Replace(in) }, `echo "looking for @@"`, true, sum, "1337")
	looks := "commands-looks"
	one(looks, "quoted", false, func(in string) string { return strings.ReplaceAll(strings.ReplaceAll(in, "\x00", ""), "'", `'\''`) },
		"printf '%s\\n' 'looking for @@'", true, "x';expr 7 '*' '191", "1337")
	one(looks, "listed", false, func(in string) string {
		if in != "lab.example" && in != "www.lab.example" {
			return "nobody"
		}
		return in
	}, bare, true, sum, "1337")
	one(looks, "letters", false, func(in string) string { return regexp.MustCompile(`[^a-z0-9.-]`).ReplaceAllString(in, "") }, bare, true, sum, "1337")
	all = append(all, page{folder: looks, name: "argument", class: "command", param: "host", value: "lab.example", proof: sum, expect: "1337",
		serve: func(_ *site, w http.ResponseWriter, r *http.Request, in string) {
			out, _ := exec.CommandContext(r.Context(), "echo", "looking for "+strings.ReplaceAll(in, "\x00", "")).CombinedOutput() // shown as it is
			show(w, 200, "Look-up", "<pre>"+enc(string(out))+"</pre>")
		}})
	return append(all, page{folder: looks, name: "refused", class: "command", param: "host", value: "lab.example", proof: sum, expect: "1337",
		serve: func(_ *site, w http.ResponseWriter, _ *http.Request, in string) {
			show(w, 500, "Look-up", "<pre>sh: 1: Syntax error: "+enc(in)+" is no host</pre>")
		}})
}

// raw answers a head as it is written: net/http would mend it.
func raw(w http.ResponseWriter, head string) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	c, out, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	body := "<p>One moment.</p>"
	fmt.Fprintf(out, "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", head, len(body), body)
	_ = out.Flush() // a client that left misses nothing
}

func headerPages() (all []page) {
	one := func(folder, name string, weak bool, head func(in string) string) {
		all = append(all, page{folder: folder, name: name, class: "crlf", weak: weak, param: "to", value: "en", proof: "en\r\nCache-Control: q7",
			expect: `^\d+ [^\n]*q7`, serve: func(_ *site, w http.ResponseWriter, _ *http.Request, in string) { raw(w, head(in)) }})
	}
	one("headers", "location", true, func(in string) string { return "302 Found\r\nLocation: /home.html?lang=" + in })
	one("headers", "cookie", true, func(in string) string { return "200 OK\r\nSet-Cookie: lang=" + in + "; HttpOnly; SameSite=Lax" })
	one("headers", "own", true, func(in string) string { return "200 OK\r\nX-Language: " + in })
	one("headers-looks", "location-encoded", false, func(in string) string { return "302 Found\r\nLocation: /home.html?lang=" + url.QueryEscape(in) })
	one("headers-looks", "cookie-cut", false, func(in string) string {
		in, _, _ = strings.Cut(strings.ReplaceAll(in, "\r", "\n"), "\n")
		return "200 OK\r\nSet-Cookie: lang=" + url.PathEscape(in) + "; HttpOnly; SameSite=Lax"
	})
	one("headers-looks", "lines-dropped", false, func(in string) string {
		return "200 OK\r\nX-Language: " + strings.NewReplacer("\r", "", "\n", "").Replace(in)
	})
	return all
}
