package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// clinic is an API with cases of users, a list of everybody for administrators, and GraphQL for the same.
func clinic(weak bool, role string) http.Handler {
	of := map[string]string{"C-501": "alice", "C-502": "bob"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		k, err := r.Cookie("user")
		if err != nil {
			http.Error(w, `{"error":"log in"}`, http.StatusUnauthorized)
			return
		}
		key, isCase := strings.CutPrefix(r.URL.Path, "/cases/")
		switch {
		case r.URL.Path == "/docs":
			fmt.Fprint(w, `{"openapi":"3.0.3","paths":{"/admin/cases":{},"/cases/{id}":{"get":{"parameters":[{"name":"id","example":"C-501"}]}}}}`)
		case r.URL.Path == "/me":
			fmt.Fprintf(w, `{"name":%q,"role":%q}`, strings.ToUpper(k.Value[:1])+k.Value[1:], role)
		case r.URL.Path == "/cases":
			for id, who := range of {
				if who == k.Value {
					fmt.Fprintf(w, `[{"key":%q}]`, id)
				}
			}
		case r.URL.Path == "/admin/cases" && weak:
			fmt.Fprint(w, `[{"key":"C-501"},{"key":"C-502"}]`)
		case isCase && of[key] != "" && (weak || of[key] == k.Value):
			fmt.Fprintf(w, `{"key":%q,"of":%q,"text":"the knee of %s hurts when it rains"}`, key, of[key], of[key])
		case isCase:
			http.Error(w, `{"error":"no such case"}`, http.StatusNotFound)
		default:
			http.Error(w, `{"error":"not for you"}`, http.StatusForbidden)
		}
	})
}

func requests(t *testing.T, lab *kittest.Lab, paths ...string) func() []*message.Request {
	t.Helper()
	var pages []*message.Request
	for _, path := range paths {
		r, err := message.New(http.MethodGet, lab.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, r)
	}
	return func() []*message.Request { return pages }
}

// A list of administrators that everybody can open does not make public what it names; it is itself a weakness, for
// who is no administrator.
func TestPagesOfStaff(t *testing.T) {
	for name, c := range map[string]struct {
		weak       bool
		role       string
		bola, bfla int
		confidence kit.Confidence
	}{
		"weak":    {true, "patient_user", 1, 1, kit.Probable},
		"says so": {true, "customer", 1, 1, kit.Proved},
		"admin":   {true, "admin", 1, 0, ""},
		"sound":   {false, "customer", 0, 0, ""},
	} {
		lab := kittest.New(t, clinic(c.weak, c.role))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = requests(t, lab, "/me", "/docs", "/cases", "/cases/C-501", "/admin/cases")
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if len(found) != c.bola || c.bola == 1 && found[0].Class != "bola" {
			t.Errorf("%s: objects: %s", name, kittest.Titles(found))
		}
		lab.World.Users = lab.World.Users[:1]
		found = lab.Run(t, kittest.Named(t, Checks(), "pages-of-staff"), &kit.Target{})
		if len(found) != c.bfla || c.bfla == 1 && found[0].Confidence != c.confidence {
			t.Errorf("%s: functions: %+v", name, found)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A query of GraphQL is compared like a page; a mutation is not sent for it.
func TestObjectsOfGraphQL(t *testing.T) {
	for name, weak := range map[string]bool{"weak": true, "sound": false} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			k, err := r.Cookie("user")
			body := make([]byte, 500)
			n, _ := r.Body.Read(body)
			text := string(body[:n])
			own := map[string]string{"alice": "7001", "bob": "7002"}
			switch {
			case r.Method == http.MethodGet:
				fmt.Fprint(w, `<script>fetch("/graphql")</script>`)
			case err != nil:
				fmt.Fprint(w, `{"errors":[{"message":"log in"}]}`)
			case strings.Contains(text, "mutation"):
				t.Errorf("%s: it sends %s", name, text)
			case strings.Contains(text, "me{"):
				fmt.Fprintf(w, `{"data":{"me":{"id":%s,"name":%q}}}`, own[k.Value], k.Value)
			case strings.Contains(text, `"id":7001`) && (weak || k.Value == "alice"):
				fmt.Fprint(w, `{"data":{"card":{"id":7001,"iban":"LAB 0091 2277 3300","owner":"alice of the hill"}}}`)
			default:
				fmt.Fprint(w, `{"data":{"card":null}}`)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = func() (all []*message.Request) {
			front, err := message.New(http.MethodGet, lab.URL+"/")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, front)
			for _, body := range []string{`{"query":"{me{id name}}"}`, `{"query":"query($id:Int){card(id:$id){id iban}}","variables":{"id":7001}}`,
				`{"query":"query($n:Int){card(id:$n){id iban owner}}","variables":{"id":7001}}`,
				`{"query":"mutation{pay}"}`} {
				r, err := message.New(http.MethodPost, lab.URL+"/graphql")
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Body = []byte(body)
				all = append(all, r)
			}
			return all
		}
		lab.World.Level = client.Safe
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if len(found) != map[string]int{"weak": 2}[name] || weak && found[0].Class != "bola" {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}
