package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func line(t *testing.T, text string) *message.Request {
	t.Helper()
	method, rest, _ := strings.Cut(text, " ")
	path, body, _ := strings.Cut(rest, " ")
	r, err := message.New(method, "http://h.test"+path)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = []byte(body)
		if strings.HasPrefix(body, "{") {
			r.Header.Set("Content-Type", "application/json")
		}
	}
	return r
}

func TestHarm(t *testing.T) {
	for text, want := range map[string]bool{
		"GET /logout.php":                                             true,
		"GET /index.php?action=logout":                                true,
		"GET /user/sign-out":                                          true,
		"GET /index.php?page=signout":                                 true,
		"GET /index.php?r=site/logout&lang=en":                        true,
		"GET /index.php?page=sign-in":                                 false,
		"GET /index.php?q=how+do+i+logout":                            false,
		"POST /account/logOff x=1":                                    true,
		"GET /items/delete/3":                                         true,
		"POST /items do=remove&id=3":                                  true,
		"DELETE /items/3":                                             true,
		"GET /deleteUser?id=3":                                        true,
		"POST /setup.php create_db=1":                                 true,
		"GET /setup.php":                                              false,
		"POST /pw password_new=a&password_conf=a":                     true,
		"GET /pw?password_new=a&password_conf=a":                      true,
		"POST /login user=a&password=b":                               false,
		"POST /users/me/password v=b":                                 true,
		"GET /change-password":                                        false,
		"POST /cart/checkout card=1":                                  true,
		"GET /checkout":                                               false,
		"GET /Case7-Injection-With-Removed-Tags-In-Attribute.jsp?v=1": false,
		"GET /search?q=delete+from+logout":                            false,
		"POST /search q=%27%3Bdrop+table+x":                           false,
		"GET /blog/how-to-logout-of-an-account":                       false,
		"PUT /users/3 name=x":                                         true,
		"GET /deliver":                                                false,
		"GET /comment.php?c=1&action=trashcomment&_wpnonce=1a2b":      true,
		"GET /wiki?id=start&sectok=1a2b":                              true,
		"GET /comment.php?c=1&action=approvecomment":                  true,
		"GET /index.php?title=Main&action=rollback&token=e1":          true,
		"GET /posts?do=toggle-sticky&id=3":                            true,
		"GET /links/3/pin?token=1a2b":                                 true,
		"GET /links/3?token=1a2b":                                     false,
		"GET /links/visibility?id=3&token=1a2b":                       true,
		"GET /links/private/3?token=1a2b":                             true,
		"GET /links/visibility?id=3":                                  false,
		"GET /api/status?token=1a2b":                                  false,
		"GET /wiki?title=a&action=edit":                               false,
		"GET /posts?status=trash":                                     false,
		"GET /posts?action=list&page=3":                               false,
		"GET /search?q=approve":                                       false,
		"GET /index.php?r=user/delete&id=3":                           true,
		"GET /index.php?route=/table/drop&token=1a2b":                 true,
		"GET /index.php?route=/table/search&db=a":                     false,
		"GET /index.php?route=/table/create&db=a":                     false,
		"GET /index.php?route=/themes/set&token=1a2b":                 true,
		"GET /login?next=/user/delete":                                false,
		"GET /doc?file=/notes/remove.txt":                             false,
	} {
		c := client.New(client.Config{Level: client.Safe})
		err := c.Permit(line(t, text), client.Options{})
		if errors.Is(err, client.ErrScope) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHarmIsAllowedByNameAndLevel(t *testing.T) {
	all := client.May{Logout: true, Password: true, Delete: true, Pay: true}
	for _, c := range []struct {
		text  string
		level client.Level
		may   client.May
		want  bool
	}{
		{"GET /logout", client.Intrusive, client.May{}, false},
		{"GET /logout", client.Safe, all, true},
		{"DELETE /x", client.Active, client.May{}, false},
		{"DELETE /x", client.Active, all, true},
		{"PUT /x", client.Active, client.May{}, true},
		{"GET /x?action=approve&csrf=1", client.Active, client.May{}, true},
		{"POST /x a=1", client.Passive, all, false},
		{"POST /x a=1", client.Safe, client.May{}, true},
	} {
		err := client.New(client.Config{Level: c.level, May: c.may}).Permit(line(t, c.text), client.Options{})
		if (err == nil) != c.want {
			t.Errorf("%s at %s: %v", c.text, c.level, err)
		}
	}
	c := client.New(client.Config{Level: client.Safe})
	if err := c.Permit(line(t, "GET /x"), client.Options{Writes: true}); !errors.Is(err, client.ErrScope) {
		t.Errorf("a write at level safe: %v", err)
	}
	if err := c.Permit(line(t, "DELETE /x"), client.Options{Forced: true}); err != nil {
		t.Errorf("what was asked for: %v", err)
	}
}

func TestWrites(t *testing.T) {
	for text, want := range map[string]bool{
		"POST /guestbook name=a&comment=b":                             true,
		"POST /x name=a|Save":                                          true,
		"POST /x q=a|Search":                                           false,
		"POST /case1.jsp target=a|submit":                              false,
		"POST /active/Script-Tests-POST/Case01-Tag.jsp input=a|submit": false,
		"POST /blog-post/save body=a|submit":                           true,
		"POST /login user=a&password=b|Sign":                           false,
		"POST /register u=a&pass=b":                                    true,
		"GET /x?q=a":                                                   false,
		"POST /x a=b&password=c&password2=d|":                          true,
		"POST /api/users/search a=b":                                   false,
		"PATCH /x a=b":                                                 true,
		"POST /x message=a&order=b|Go":                                 false,
		"POST /x add_user=a|Go":                                        true,
		"POST /x text=a|textarea":                                      true,
		`POST /books/v1 {"title":"a"}`:                                 true,
		`POST /api/graphql {"query":"a"}`:                              false,
		`POST /api/users/find {"name":"a"}`:                            false,
		"POST /index.php?route=/themes/set theme=a|":                   true,
		"POST /index.php?r=site/contact text=a|":                       true,
		"POST /index.php?route=/table/search a=b|":                     false,
		"POST /index.php?route=/database/sql/format a=b|":              false,
		"POST /x?back=/shop/order a=b|Go":                              false,
		"GET /index.php?route=/table/create&db=a|":                     false,
	} {
		text, label, _ := strings.Cut(text, "|")
		if got := client.Writes(line(t, text), label); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	upload := line(t, "POST /x")
	upload.Header = http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}
	upload.Body = []byte(message.EncodeMultipart([]message.Part{{Name: "f", FileName: "a"}}, "b"))
	if !client.Writes(upload) {
		t.Error("a file is written")
	}
}
