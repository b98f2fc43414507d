package webtest_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	_ "modernc.org/sqlite"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const socketPage = `<h1>Stock</h1><input id=q><script>
	const ws = new WebSocket((location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/live");
	ws.onopen = () => ws.send(JSON.stringify({type: "hello", token: "t1"}));
	ws.onmessage = (e) => { document.title = e.data };
	function find() { ws.send(JSON.stringify({type: "find", name: document.getElementById("q").value, safe: "test"})) }
	function remove() { ws.send(JSON.stringify({type: "delete", name: "test"})) }
</script>`

// stock is a page and a WebSocket that answers those who have said hello: name is put into SQL as it is, safe is bound.
func stock(t *testing.T, db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/live" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, socketPage)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		greeted := false
		for {
			_, text, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var asked struct{ Type, Name, Safe, Token string }
			if err := json.Unmarshal(text, &asked); err != nil {
				_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"error":"that is no JSON"}`))
				continue
			}
			answer := `{"error":"say hello"}`
			switch {
			case asked.Type == "hello":
				greeted, answer = true, `{"hello":"you"}`
			case asked.Type == "delete":
				t.Error("something was deleted")
			case greeted:
				answer = rows(db, "SELECT name FROM goods WHERE name = '"+asked.Name+"' OR name = ?", asked.Safe)
			}
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(answer))
		}
	}
}

func rows(db *sql.DB, statement string, args ...any) string {
	found := []string{}
	all, err := db.Query(statement, args...)
	if err != nil {
		return `{"error":"it did not work"}`
	}
	defer all.Close()
	for all.Next() {
		var name string
		_ = all.Scan(&name)
		found = append(found, name)
	}
	text, _ := json.Marshal(map[string]any{"found": found})
	if all.Err() != nil {
		return `{"error":"it did not work"}`
	}
	return string(text)
}

func TestMessagesToWebSocketsAreInputs(t *testing.T) {
	db, err := sql.Open("sqlite", "file:stock?mode=memory&cache=shared")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE goods (name TEXT); INSERT INTO goods VALUES ('test'), ('pen'), ('ink')")
	if err != nil {
		t.Fatal(err)
	}
	checks := slices.DeleteFunc(check.All(), func(c check.Check) bool {
		return c.Class != "sql-injection" || c.Place == nil
	})
	if len(checks) == 0 {
		t.Fatal("no checks for SQL injection")
	}
	cfg := serve(t, webtest.Config{Checks: checks}, stock(t, db))
	cfg.Starts[0].Path = "/"
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) != 1 {
		t.Fatalf("%d findings, want 1: %v; coverage %v", len(report.Findings), report.Findings, report.Coverage.Rows())
	}
	f := report.Findings[0]
	if !f.Request.IsMessage() || f.Place.Name != "name" || f.Request.After == nil {
		t.Errorf("found at %s of %s %s, after %v", f.Place, f.Request.Method, f.Request.URL, f.Request.After)
	}
	text := f.Request.Text()
	if !strings.HasPrefix(text, "GET /live HTTP/1.1\r\n") || !strings.Contains(text, "\r\nUpgrade: websocket\r\n") {
		t.Errorf("the request reads %q", text)
	}
	sender := client.New(cfg.Client)
	defer sender.Close()
	outcome, err := (&proof.Runner{Send: sender.Send}).Run(t.Context(), f.Proof)
	if err != nil || !outcome.Holds {
		t.Errorf("its proof: %+v, %v", outcome, err)
	}
	again, err := json.Marshal(f.Request)
	if err != nil {
		t.Fatal(err)
	}
	var read message.Request
	if err := json.Unmarshal(again, &read); err != nil || read.Key() != f.Request.Key() || !read.After.IsMessage() {
		t.Errorf("stored and read again: %v, %v", read, err)
	}
}
