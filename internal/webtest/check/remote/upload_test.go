package remote

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var echoes = regexp.MustCompile(`<\?php echo (\d+)\*(\d+); \?>`)

// store keeps files of the endings that it takes, and serves them; run says whether PHP is run.
func store(takes func(ext string) bool, run, attach bool) http.Handler {
	var mu sync.Mutex
	files := map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			file, head, err := r.FormFile("picture")
			if err != nil || !takes(path.Ext(head.Filename)) {
				http.Error(w, "not this type", http.StatusUnsupportedMediaType)
				return
			}
			text, _ := io.ReadAll(file)
			files["/files/"+head.Filename] = string(text)
			fmt.Fprintf(w, "<p>stored as <a href='/files/%s'>it</a></p>", head.Filename)
			return
		}
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if m := echoes.FindStringSubmatch(text); m != nil && run {
			a, _ := strconv.Atoi(m[1])
			b, _ := strconv.Atoi(m[2])
			text = strings.ReplaceAll(text, m[0], strconv.Itoa(a*b))
		}
		if attach {
			w.Header().Set("Content-Disposition", "attachment")
		}
		w.Header().Set("Content-Type", map[string]string{".html": "text/html"}[path.Ext(r.URL.Path)]+"")
		fmt.Fprint(w, text)
	})
}

// endings runs files whose names have an ending that runs, and takes names that have one it takes.
func endings(runs, takes string) http.Handler {
	run, take := regexp.MustCompile(runs), regexp.MustCompile(takes)
	running, still := store(func(string) bool { return true }, true, false), store(func(string) bool { return true }, false, true)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if _, head, err := r.FormFile("picture"); err == nil {
			name = head.Filename
		}
		switch {
		case r.Method == http.MethodPost && !take.MatchString(name):
			http.Error(w, "no picture", http.StatusUnsupportedMediaType)
		case run.MatchString(name):
			running.ServeHTTP(w, r)
		default:
			still.ServeHTTP(w, r)
		}
	})
}

func TestUpload(t *testing.T) {
	body := "--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n"
	all := func(string) bool { return true }
	for name, c := range map[string]struct {
		app  http.Handler
		want string
	}{
		"runs":        {store(all, true, false), ".php"},
		"shows":       {store(func(ext string) bool { return ext == ".html" }, false, false), ".html"},
		"any ending":  {endings(`\.php\b`, ``), ".php"},
		"picture too": {endings(`\.php$`, `\.png`), ".png.php"},
		"ends so":     {endings(`\.php\b`, `\.png$`), ".php.png"},
		"as it ends":  {endings(`\.php$`, `\.png$`), ""},
		"attaches":    {store(all, false, true), ""},
		"refuses":     {store(func(ext string) bool { return ext == ".png" }, false, false), ""},
	} {
		lab := kittest.New(t, c.app)
		r, err := message.New(http.MethodPost, lab.URL+"/profile")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte(body)
		answer, err := lab.World.Client.Send(t.Context(), r, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := lab.Run(t, upload(), &kit.Target{Request: r, Places: message.Places(r), Response: answer})
		switch {
		case c.want == "" && len(found) > 0, c.want != "" && (len(found) != 1 || found[0].Variant != c.want):
			t.Errorf("%s: found %s, want %q", name, kittest.Titles(found), c.want)
		}
	}
}

// What is taken for a picture by its type, its first bytes or the first of its endings is run all the same.
func TestUploadOfPictures(t *testing.T) {
	for name, c := range map[string]struct {
		takes func(name, kind, text string) bool
		want  string
	}{
		"by its type": {func(name, kind, _ string) bool { return strings.HasPrefix(kind, "image/") }, ".php"},
		"by its first bytes": {func(_, kind, text string) bool {
			return kind == "image/gif" && strings.HasPrefix(text, "GIF8")
		}, ".php"},
		"by an ending in small letters": {func(name, _, _ string) bool { return !strings.HasSuffix(name, ".php") }, ".phtml"},
		"by capitals": {func(name, _, _ string) bool {
			return !strings.HasSuffix(name, ".php") && !strings.HasSuffix(name, ".phtml")
		}, ".pHp"},
		"by its first ending": {func(name, _, _ string) bool { return strings.Split(name, ".")[1] == "png" }, ".png.php"},
		"by its last ending":  {func(name, _, _ string) bool { return path.Ext(name) == ".png" }, ""},
	} {
		var mu sync.Mutex
		files := map[string]string{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet {
				text := files[path.Base(r.URL.Path)]
				m := echoes.FindStringSubmatch(text)
				if m == nil {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "image/gif")
				if strings.HasPrefix(strings.ToLower(path.Ext(r.URL.Path)), ".ph") {
					a, _ := strconv.Atoi(m[1])
					b, _ := strconv.Atoi(m[2])
					text = strings.ReplaceAll(text, m[0], strconv.Itoa(a*b))
					w.Header().Set("Content-Type", "text/html")
				}
				fmt.Fprint(w, text)
				return
			}
			file, head, err := r.FormFile("picture")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			text, _ := io.ReadAll(file)
			if strings.HasSuffix(head.Filename, ".html") || strings.HasSuffix(head.Filename, ".svg") ||
				!c.takes(head.Filename, head.Header.Get("Content-Type"), string(text)) {
				fmt.Fprint(w, "not this")
				return
			}
			files[head.Filename] = string(text)
			fmt.Fprintf(w, "../shown/%s is here now", head.Filename)
		}))
		r, err := message.New(http.MethodPost, lab.URL+"/forms/left")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte("--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nP\r\n--b--\r\n")
		found := lab.Run(t, upload(), &kit.Target{Request: r, Places: message.Places(r)})
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Variant != c.want) {
			t.Errorf("%s: found %s, want %q", name, kittest.Titles(found), c.want)
		}
	}
}

// A file that the page behind a redirect names is found, and one that is taken for the type that its sender claims.
func TestUploadThatIsListedElsewhere(t *testing.T) {
	body := "--b\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n"
	for name, renames := range map[string]bool{"weak": false, "renames": true} {
		var mu sync.Mutex
		files := map[string]string{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			switch file, head, err := r.FormFile("picture"); {
			case r.Method == http.MethodPost && (err != nil || head.Header.Get("Content-Type") != "image/png"):
				http.Error(w, "only pictures", http.StatusUnsupportedMediaType)
			case r.Method == http.MethodPost:
				text, _ := io.ReadAll(file)
				name := head.Filename
				if renames {
					name = fmt.Sprintf("%d.png", len(files))
				}
				files[name] = string(text)
				http.Redirect(w, r, "/gallery/all", http.StatusSeeOther)
			case r.URL.Path == "/gallery/all":
				w.Header().Set("Content-Type", "text/html")
				for name := range files {
					fmt.Fprintf(w, "<img src='shown/%s'>", name)
				}
			case strings.HasPrefix(r.URL.Path, "/gallery/shown/") && files[path.Base(r.URL.Path)] != "":
				w.Header().Set("Content-Type", map[string]string{".html": "text/html"}[path.Ext(r.URL.Path)]+"")
				fmt.Fprint(w, files[path.Base(r.URL.Path)])
			default:
				http.NotFound(w, r)
			}
		}))
		r, err := message.New(http.MethodPost, lab.URL+"/gallery")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte(body)
		found := lab.Run(t, upload(), &kit.Target{Request: r, Places: message.Places(r)})
		if len(found) != map[string]int{"weak": 1}[name] {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// A drawing or a document of XML whose entities bring a file is found, in the answer to it alone; one whose entities
// are left out, or shown as they were sent, is not.
func TestEntitiesInFiles(t *testing.T) {
	declared := regexp.MustCompile(`<!ENTITY (\w+) (?:SYSTEM|PUBLIC "\w+") "file:///etc/passwd">`)
	passwd := "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
	inside := regexp.MustCompile(`<(title|name|pen)>(.*?)</(?:title|name|pen)>`)
	const example = `<order id="1"><pen>blue</pen></order>`
	for name, c := range map[string]struct {
		reads func(name, text string) bool
		opens bool
		want  int
	}{
		"a drawing":            {func(n, _ string) bool { return strings.HasSuffix(n, ".svg") }, true, 1},
		"a document":           {func(n, _ string) bool { return strings.HasSuffix(n, ".xml") }, true, 1},
		"not expanded":         {func(_, _ string) bool { return true }, false, 0},
		"not read":             {func(_, _ string) bool { return false }, true, 0},
		"as on the page":       {func(_, text string) bool { return strings.Contains(text, "<pen>") }, true, 1},
		"as on it, not opened": {func(_, text string) bool { return strings.Contains(text, "<pen>") }, false, 0},
		"a word is refused":    {func(_, text string) bool { return !strings.Contains(text, "SYSTEM") }, true, 1},
		"both are refused":     {func(_, text string) bool { return !regexp.MustCompile("SYSTEM|PUBLIC").MatchString(text) }, true, 0},
		"as in a file":         {func(_, text string) bool { return strings.Contains(text, "<order") }, true, 1},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/order.xml":
				fmt.Fprint(w, example)
				return
			case r.Method == http.MethodGet && name == "as in a file":
				fmt.Fprint(w, `<a href="order.xml">An example</a><form></form>`)
				return
			case r.Method == http.MethodGet:
				fmt.Fprint(w, "<pre>"+html.EscapeString(example)+"</pre><form></form>")
				return
			}
			file, head, err := r.FormFile("doc")
			if err != nil {
				t.Error(err)
				return
			}
			text, _ := io.ReadAll(file)
			if !c.reads(head.Filename, string(text)) {
				http.Error(w, "not this type", http.StatusBadRequest)
				return
			}
			shown := inside.FindStringSubmatch(string(text))[2]
			if m := declared.FindSubmatch(text); m != nil && c.opens && shown == "&"+string(m[1])+";" {
				shown = passwd
			}
			fmt.Fprintf(w, "<p>Thank you for %s</p>", shown)
		}))
		r, err := message.New(http.MethodPost, lab.URL+"/import")
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.Body = []byte("--b\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a\"\r\n\r\nP\r\n--b--\r\n")
		found := lab.Run(t, xxeInFile(), &kit.Target{Request: r, From: lab.URL + "/new", Places: message.Places(r)})
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
			continue
		}
		for _, f := range found {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
				t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
			}
		}
	}
}
