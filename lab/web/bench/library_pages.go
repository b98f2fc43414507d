package bench

import (
	"database/sql"
	"errors"
	"net/http"
	"time"
)

func (l *library) register(w http.ResponseWriter, r *http.Request) {
	body := asked(r)
	name, word, mail := said(body, "username"), said(body, "password"), said(body, "email")
	if name == "" || word == "" || mail == "" {
		reply(w, 400, problem("username, password and email are needed"))
		return
	}
	admin := body["admin"] == true && l.weak
	if _, err := l.db.ExecContext(r.Context(), "INSERT INTO accounts VALUES (?, ?, ?, ?, '')", name, word, mail, admin); err != nil {
		reply(w, 409, problem("This account cannot be made"))
		return
	}
	reply(w, 200, done("Registered. Log in to receive a token."))
}

// maxFailed: the mended variant refuses a name for a minute after so many wrong passwords in a minute.
const maxFailed = 8

// tooMany reports whether a name had too many wrong passwords of late, and forgets those of before.
func (l *library) tooMany(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.failed[name][:0]
	for _, at := range l.failed[name] {
		if time.Since(at) < time.Minute {
			late = append(late, at)
		}
	}
	l.failed[name] = late
	return len(late) >= maxFailed
}

func (l *library) login(w http.ResponseWriter, r *http.Request) {
	body := asked(r)
	name := said(body, "username")
	if !l.weak && l.tooMany(name) {
		reply(w, http.StatusTooManyRequests, problem("Try again later"))
		return
	}
	var word string
	err := l.db.QueryRowContext(r.Context(), "SELECT password FROM accounts WHERE username = ?", name).Scan(&word)
	if err == nil && word == said(body, "password") {
		reply(w, 200, map[string]string{"status": "success", "token": l.token(name)})
		return
	}
	l.mu.Lock()
	l.failed[name] = append(l.failed[name], time.Now())
	l.mu.Unlock()
	switch {
	case !l.weak:
		reply(w, 401, problem("Username and password do not match"))
	case err != nil:
		reply(w, 200, problem("This username is not known"))
	default:
		reply(w, 200, problem("The password is not that of this username"))
	}
}

// debug shows all accounts; the mended variant keeps that for administrators, without passwords.
func (l *library) debug(w http.ResponseWriter, r *http.Request) {
	if a := l.who(r); !l.weak && (a == nil || !a.Admin) {
		reply(w, 404, problem("There is no such page"))
		return
	}
	rows, err := l.db.QueryContext(r.Context(), "SELECT username, password, email, admin FROM accounts ORDER BY username")
	if err != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	defer rows.Close()
	var all []map[string]any
	for rows.Next() {
		var name, word, mail string
		var admin bool
		if err := rows.Scan(&name, &word, &mail, &admin); err != nil {
			break
		}
		one := map[string]any{"username": name, "email": mail, "admin": admin}
		if l.weak {
			one["password"] = word
		}
		all = append(all, one)
	}
	if rows.Err() != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	reply(w, 200, map[string]any{"users": all})
}

// profile is what everybody may know of a user.
func (l *library) profile(w http.ResponseWriter, r *http.Request, _ *account) {
	text, values := "SELECT username, about FROM accounts WHERE username = ?", []any{r.PathValue("name")}
	if l.weak {
		text, values = "SELECT username, about FROM accounts WHERE username = '"+r.PathValue("name")+"'", nil
	}
	var name, about string
	err := l.db.QueryRowContext(r.Context(), text, values...).Scan(&name, &about)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		reply(w, 404, problem("There is no such user"))
	case err != nil:
		reply(w, 500, problem(err.Error()))
	default:
		reply(w, 200, map[string]string{"username": name, "about": about})
	}
}

// password changes a password; the mended variant that of the user alone, who knows the old one.
func (l *library) password(w http.ResponseWriter, r *http.Request, a *account) {
	body, name := asked(r), r.PathValue("name")
	if !l.weak {
		var old string
		err := l.db.QueryRowContext(r.Context(), "SELECT password FROM accounts WHERE username = ?", a.Username).Scan(&old)
		if err != nil || name != a.Username || old != said(body, "old_password") {
			reply(w, 403, problem("This is not yours"))
			return
		}
	}
	if said(body, "password") == "" {
		reply(w, 400, problem("password is needed"))
		return
	}
	l.change(w, r, "UPDATE accounts SET password = ? WHERE username = ?", said(body, "password"), name)
}

// email changes the address of the user.
func (l *library) email(w http.ResponseWriter, r *http.Request, a *account) {
	if r.PathValue("name") != a.Username {
		reply(w, 403, problem("This is not yours"))
		return
	}
	mail := said(asked(r), "email")
	if mail == "" {
		reply(w, 400, problem("email is needed"))
		return
	}
	l.change(w, r, "UPDATE accounts SET email = ? WHERE username = ?", mail, a.Username)
}

func (l *library) change(w http.ResponseWriter, r *http.Request, text string, values ...any) {
	got, err := l.db.ExecContext(r.Context(), text, values...)
	if err != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	if n, err := got.RowsAffected(); err != nil || n == 0 {
		reply(w, 404, problem("There is no such thing"))
		return
	}
	reply(w, 200, done("It was changed"))
}

// remove deletes an account, for administrators.
func (l *library) remove(w http.ResponseWriter, r *http.Request, a *account) {
	if !a.Admin {
		reply(w, 403, problem("Only administrators may do this"))
		return
	}
	l.change(w, r, "DELETE FROM accounts WHERE username = ? AND admin = 0", r.PathValue("name"))
}

// books are the titles of all and whose they are, without what their owners wrote into them.
func (l *library) books(w http.ResponseWriter, r *http.Request, _ *account) {
	by := r.URL.Query().Get("sort")
	if by != "owner" {
		by = "title"
	}
	rows, err := l.db.QueryContext(r.Context(), "SELECT title, owner FROM books ORDER BY "+by+", title LIMIT 200")
	if err != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	defer rows.Close()
	all := []map[string]string{}
	for rows.Next() {
		var title, owner string
		if err := rows.Scan(&title, &owner); err != nil {
			break
		}
		all = append(all, map[string]string{"title": title, "owner": owner})
	}
	if rows.Err() != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	reply(w, 200, map[string]any{"books": all})
}

// book is a book with what its owner wrote into it.
func (l *library) book(w http.ResponseWriter, r *http.Request, a *account) {
	var title, owner, secret string
	err := l.db.QueryRowContext(r.Context(), "SELECT title, owner, secret FROM books WHERE title = ?", r.PathValue("title")).Scan(&title, &owner, &secret)
	switch {
	case err != nil:
		reply(w, 404, problem("There is no such book"))
	case owner != a.Username && !l.weak:
		reply(w, 200, map[string]string{"title": title, "owner": owner})
	default:
		reply(w, 200, map[string]string{"title": title, "owner": owner, "secret": secret})
	}
}

func (l *library) addBook(w http.ResponseWriter, r *http.Request, a *account) {
	body := asked(r)
	if said(body, "title") == "" || said(body, "secret") == "" {
		reply(w, 400, problem("title and secret are needed"))
		return
	}
	if _, err := l.db.ExecContext(r.Context(), "INSERT INTO books VALUES (?, ?, ?)", said(body, "title"), a.Username, said(body, "secret")); err != nil {
		reply(w, 409, problem("There is such a book"))
		return
	}
	reply(w, 200, done("The book was added"))
}

// loans are those of the user.
func (l *library) loans(w http.ResponseWriter, r *http.Request, a *account) {
	rows, err := l.db.QueryContext(r.Context(), "SELECT id, book FROM loans WHERE owner = ? ORDER BY id", a.Username)
	if err != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	defer rows.Close()
	all := []map[string]any{}
	for rows.Next() {
		var id int
		var book string
		if err := rows.Scan(&id, &book); err != nil {
			break
		}
		all = append(all, map[string]any{"id": id, "book": book})
	}
	if rows.Err() != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	reply(w, 200, map[string]any{"loans": all})
}

// loan shows or ends a loan.
func (l *library) loan(w http.ResponseWriter, r *http.Request, a *account) {
	var id int
	var owner, book, address string
	err := l.db.QueryRowContext(r.Context(), "SELECT id, owner, book, address FROM loans WHERE id = ?", r.PathValue("id")).Scan(&id, &owner, &book, &address)
	switch {
	case err != nil || owner != a.Username && !l.weak:
		reply(w, 404, problem("There is no such loan"))
	case r.Method == http.MethodDelete:
		l.change(w, r, "DELETE FROM loans WHERE id = ?", id)
	default:
		reply(w, 200, map[string]any{"id": id, "owner": owner, "book": book, "address": address})
	}
}

// members is a report for administrators.
func (l *library) members(w http.ResponseWriter, r *http.Request, a *account) {
	if !l.weak && !a.Admin {
		reply(w, 403, problem("Only administrators may do this"))
		return
	}
	rows, err := l.db.QueryContext(r.Context(), "SELECT email FROM accounts ORDER BY email")
	if err != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var mail string
		if err := rows.Scan(&mail); err != nil {
			break
		}
		all = append(all, mail)
	}
	if rows.Err() != nil {
		reply(w, 500, problem("Internal error"))
		return
	}
	reply(w, 200, map[string]any{"members": all})
}

// cover fetches the picture of a book; the mended variant from one host alone.
func (l *library) cover(w http.ResponseWriter, r *http.Request, _ *account) {
	address := said(asked(r), "address")
	if !l.weak && !hostIs(address, "covers.lab.example") {
		reply(w, 400, problem("Covers come from covers.lab.example"))
		return
	}
	text, err := fetch(r, address)
	if err != nil {
		reply(w, 502, problem("The cover cannot be fetched"))
		return
	}
	reply(w, 200, map[string]any{"status": "success", "preview": text[:min(len(text), 2000)]})
}
