package services

import (
	"embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// InsidePort is the port of the server of this program: pages for browsers, a WebSocket that echoes, and RDAP.
const InsidePort = 8088

// pages are what browsers see.
//
//go:embed pages
var pages embed.FS

// inside starts the server of this program on all addresses.
func inside() (io.Closer, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", InsidePort))
	if err != nil {
		return nil, err
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(answer)) }()
	return listener, nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		echo(w, r)
	case strings.HasPrefix(r.URL.Path, "/rdap/domain/"):
		page(w, "rdap.json", "application/rdap+json")
	case r.URL.Path == "/headers":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><pre>%s x-lab=%s</pre></body></html>", r.Method, r.Header.Get("X-Lab"))
	case r.URL.Path == "/login":
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><body><p>Hello %s/%s</p></body></html>", r.Form.Get("user"), r.Form.Get("pass"))
	case r.URL.Path == "/":
		page(w, "index.html", "text/html")
	default:
		page(w, path.Base(r.URL.Path)+".html", "text/html")
	}
}

func page(w http.ResponseWriter, name, kind string) {
	text, err := pages.ReadFile("pages/" + name)
	if err != nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Served-By", "lab")
	_, _ = w.Write(text)
}

// echo answers each message with its text and the header of the request.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, _, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		message, kind, err := wsutil.ReadClientData(conn)
		if err != nil {
			return
		}
		text := "echo:" + string(message) + " " + r.Header.Get("X-Lab") + " " + r.URL.Path
		if wsutil.WriteServerMessage(conn, kind, []byte(text)) != nil {
			return
		}
	}
}
