package technique

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// ordered lists users in the order of a column that must be named; a sound one knows its columns.
func ordered(sound bool, column func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := column(r)
		if sound && by != "" && by != unsaid && by != "name" {
			by = "id"
		}
		rows, err := database().Query("SELECT id, name FROM users WHERE name LIKE ? ORDER BY "+by+" ASC",
			"%"+r.FormValue("text")+"%")
		if by == "" || err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer rows.Close()
		var all [][2]string
		for rows.Next() {
			var u [2]string
			if err := rows.Scan(&u[0], &u[1]); err != nil {
				panic(err)
			}
			all = append(all, u)
		}
		if rows.Err() != nil { // SQLite computes the order with the first row
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all)
	})
}

// What is refused as long as a place has no value is tested with one.
func TestPlacesWithoutValue(t *testing.T) {
	nested := func(r *http.Request) string {
		var sent struct {
			Text string
			Sort struct{ By, Dir string }
		}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		r.Form = map[string][]string{"text": {sent.Text}}
		return sent.Sort.By
	}
	column := func(r *http.Request) string { return r.FormValue("column") }
	for name, test := range map[string]struct {
		app                http.Handler
		method, path, body string
		place              string
		want               int
	}{
		"a member of JSON":       {ordered(false, nested), "POST", "/search", `{"text":"test","sort":{"by":"test","dir":"asc"}}`, "sort.by", 1},
		"a parameter":            {ordered(false, column), "GET", "/list?page=1&column=", "", "column", 1},
		"a known member of JSON": {ordered(true, nested), "POST", "/search", `{"text":"test","sort":{"by":"test","dir":"asc"}}`, "sort.by", 0},
		"a known parameter":      {ordered(true, column), "GET", "/list?page=1&column=", "", "column", 0},
	} {
		t.Run(name, func(t *testing.T) {
			lab := kittest.New(t, test.app)
			target := lab.Target(t, test.method, test.path, test.body)
			for _, c := range Checks() {
				if c.Class != "sql-injection" {
					continue
				}
				found := lab.Run(t, c, target)
				if len(found) != test.want {
					t.Fatalf("%d findings, want %d: %s", len(found), test.want, kittest.Titles(found))
				}
				for _, f := range found {
					if f.Place.Name != test.place {
						t.Errorf("found at %s", f.Place)
					}
					holds(t, lab, f)
				}
			}
		})
	}
}
