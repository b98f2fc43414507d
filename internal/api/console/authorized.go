package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/extension"
)

// harmless are the characters of codes and states that mean nothing to a shell.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._~+/=:-]+$`)

// authorized has the page to which an authorization server of an MCP server sends browsers back. It changes nothing:
// the owner of the MCP server finishes with their key, so that nobody is led to authorize another's server.
func (p pages) authorized(mux *http.ServeMux) {
	mux.HandleFunc("GET "+extension.RedirectPath, func(w http.ResponseWriter, r *http.Request) {
		status, v := answered(r.URL.Query())
		v.Base = base(r)
		show(w, status, "authorized.html", v)
	})
	mux.HandleFunc(extension.RedirectPath, notAllowed)
}

const maxAnswer = 4000 // bytes of a code

func answered(q url.Values) (int, view) {
	if problem := q.Get("error"); problem != "" {
		if !harmless.MatchString(problem) || len(problem) > 100 {
			problem = "an error"
		}
		return http.StatusOK, view{Problem: problem}
	}
	answer := map[string]string{"state": q.Get("state"), "code": q.Get("code")}
	if iss := q.Get("iss"); iss != "" {
		answer["iss"] = iss
	}
	for _, value := range answer {
		if !harmless.MatchString(value) || len(value) > maxAnswer {
			return http.StatusBadRequest, view{Problem: "something else than a code and a state"}
		}
	}
	server, _, _ := strings.Cut(answer["state"], ".")
	doc, err := json.Marshal(answer)
	if err != nil {
		return http.StatusBadRequest, view{Problem: err.Error()}
	}
	finish := url.Values{}
	for name, value := range answer {
		finish.Set(name, value)
	}
	return http.StatusOK, view{Server: server, Answer: string(doc), Finish: "/settings/tools?" + finish.Encode()}
}
