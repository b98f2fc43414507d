package apps

import (
	"html"
	"net/http"
	"path"
	"strings"
	"sync"
)

func files() App {
	return App{
		Name: "files", About: "a file server with downloads and uploads", handler: newFiles,
		Weaknesses: []Weakness{
			{"files-traversal", "22 23 73 98", "/download", "file", "A download leaves its folder",
				`travers|lfi|file inclusion|arbitrary file|path`},
			{"files-listing", "548", "/pub/*", "", "A folder is listed", `listing|index of`},
			{"files-private-key", "538 312 522 321 200", "/pub/old/id_ed25519", "", "A private key is served",
				`private key|ssh key|id_ed25519`},
			{"files-dump", "530 538 200", "/dump.sql", "", "A dump of the database is served", `dump|backup|sql`},
			{"files-htpasswd", "522 538 200", "/.htpasswd", "", "The password file is served",
				`htpasswd|password file`},
			{"files-upload", "434 306 79", "/upload", "", "Anybody uploads pages that are served as such", `upload`},
		},
	}
}

// fileTree simulates the disk of the file server.
func fileTree() map[string]string {
	return map[string]string{
		"/srv/share/price-list.txt": "Rope, 10 m: 12.00\n",
		"/srv/share/hours.txt":      "Monday to Friday\n",
		"/etc/hostname":             "files-lab\n",
		"/etc/passwd":               "root:x:0:0:root:/root:/bin/sh\nlab:x:1000:1000:Made-up Mia:/home/lab:/bin/sh\n",
		"/etc/group":                "root:x:0:\nlab:x:1000:\n",
		"/etc/os-release":           "PRETTY_NAME=\"Lab Linux 1\"\nNAME=\"Lab Linux\"\nVERSION_ID=\"1\"\nID=lab\nHOME_URL=\"https://lab.example/\"\n",
	}
}

func newFiles() http.Handler {
	tree := fileTree()
	var mu sync.Mutex
	uploads := map[string]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", view("Files", `<h1>Files</h1><p><a href="/download?file=price-list.txt">Prices</a> <a href="/download?file=hours.txt">Hours</a> <a href="/pub/">Public folder</a></p>
<form method="post" action="/upload" enctype="multipart/form-data"><input type="file" name="file"><button>Upload</button></form>`))
	mux.HandleFunc("GET /download", func(w http.ResponseWriter, r *http.Request) {
		body, ok := tree[path.Join("/srv/share", r.FormValue("file"))]
		if !ok {
			errorPage(w, http.StatusNotFound, "Not found", "<h1>There is no such file</h1>")
			return
		}
		send(w, "application/octet-stream", body)
	})
	mux.HandleFunc("GET /pub/{$}", text("text/html; charset=utf-8", "<pre>\n<a href=\"old/\">old/</a>\n<a href=\"readme.txt\">readme.txt</a>\n</pre>\n"))
	mux.HandleFunc("GET /pub/old/{$}", text("text/html; charset=utf-8", "<pre>\n<a href=\"id_ed25519\">id_ed25519</a>\n</pre>\n"))
	mux.HandleFunc("GET /pub/readme.txt", text("text/plain", "Take what you need.\n"))
	mux.HandleFunc("GET /pub/old/id_ed25519", text("text/plain", "-----BEGIN OPENSSH PRIVATE KEY-----\nbWFkZSB1cCBhbmQgbm90IGEga2V5IGF0IGFsbCwganVzdCBzb21lIHRleHQgb2Yg\nYSBsYWIgdGhhdCBub2JvZHkgY2FuIHVzZSBmb3IgYW55IGRvb3IgaW4gdGhlIHdv\n-----END OPENSSH PRIVATE KEY-----\n"))
	mux.HandleFunc("GET /dump.sql", text("application/sql", "-- made-up data\nCREATE TABLE users (id INT, name TEXT);\nINSERT INTO users VALUES (1, 'Made-up Mia');\n"))
	mux.HandleFunc("GET /.htpasswd", text("text/plain", "mia:$apr1$madeupup$0123456789abcdefghijkl\n"))
	mux.HandleFunc("POST /upload", func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil || head.Size > 1<<16 {
			errorPage(w, http.StatusBadRequest, "Upload", "<h1>No file, or too large</h1>")
			return
		}
		defer file.Close()
		body := make([]byte, head.Size)
		n, _ := file.Read(body)
		name := "/uploads/" + path.Base("/"+head.Filename)
		mu.Lock()
		defer mu.Unlock()
		if len(uploads) < 100 {
			uploads[name] = string(body[:n])
		}
		errorPage(w, http.StatusCreated, "Upload", `<p><a href="`+html.EscapeString(name)+`">It is here</a></p>`)
	})
	mux.HandleFunc("GET /uploads/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, ok := uploads[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		mediaType := "application/octet-stream"
		if strings.HasSuffix(r.URL.Path, ".html") {
			mediaType = "text/html; charset=utf-8"
		}
		send(w, mediaType, body)
	})
	return guarded(mux)
}
