package export

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"

	"github.com/tidwall/gjson"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

// maskerOf is the masker of an export. It knows the secrets of the team besides what looks like a secret.
func (es *Exports) maskerOf(ctx context.Context, r Request, teamID string) (*mask.Masker, error) {
	if r.Unmasked {
		return mask.None(), nil
	}
	key, err := es.MaskKey(ctx, teamID)
	if err != nil || es.from.Secrets == nil {
		return mask.New(key), err
	}
	values, err := es.from.Secrets.OfTeam(ctx, teamID)
	return mask.New(key, values...), err
}

// Masker is a masker for exports of a team that are made elsewhere.
func (es *Exports) Masker(ctx context.Context, teamID string) (*mask.Masker, error) {
	return es.maskerOf(ctx, Request{}, teamID)
}

// MaskKey is the key of a team's tags, so that one value has one tag in all its exports. It is made when it is first
// needed.
func (es *Exports) MaskKey(ctx context.Context, teamID string) ([]byte, error) {
	find := func() ([]byte, error) {
		return db.Value[[]byte](ctx, es.db, `SELECT key FROM mask_key WHERE team_id = ?`, teamID)
	}
	key, err := find()
	if !db.IsNoRows(err) {
		return key, err
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	if _, err := es.db.Exec(
		ctx,
		`INSERT INTO mask_key (team_id, key) VALUES (?, ?) ON CONFLICT (team_id) DO NOTHING`,
		teamID,
		key,
	); err != nil {
		return nil, err
	}
	return find()
}

// maskDocument masks the secrets of a finding: those of its request and its response first, so that they are known
// where a part of another member repeats them.
func maskDocument(m *mask.Masker, d *finding.Document) {
	if m.Off() {
		return
	}
	m.Forget()
	m.Learn(d.Request.Text)
	m.Learn(d.Response.Text)
	for _, c := range compared(d) {
		m.Learn(c.Request)
		m.Learn(c.Response)
	}
	d.Rewrite(func(key string, v finding.Value) finding.Value { return maskValue(m, key, v) })
}

func maskValue(m *mask.Masker, key string, v finding.Value) finding.Value {
	switch {
	case v.JSON == "" || key == "type" || key == "template-id" || key == "timestamp":
		return v
	case key == "template_encoded":
		return maskEncoded(m, v)
	case v.JSON[0] == '"':
		if masked := m.Text(v.Text); masked != v.Text {
			return finding.Value{JSON: string(gjson.AppendJSONString(nil, masked)), Text: masked}
		}
	case v.JSON[0] == '[' && len(v.JSON) > 2, v.JSON[0] == '{' && len(v.JSON) > 2:
		return maskJSON(m, v)
	}
	return v
}

// maskEncoded masks a template in base64.
func maskEncoded(m *mask.Masker, v finding.Value) finding.Value {
	text, err := base64.StdEncoding.DecodeString(v.Text)
	if err != nil {
		return v
	}
	masked := m.Text(string(text))
	if masked == string(text) {
		return v
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(masked))
	return finding.Value{JSON: `"` + encoded + `"`, Text: encoded}
}

// maskJSON masks the texts of a document, and leaves it as it is where there are none to mask.
func maskJSON(m *mask.Masker, v finding.Value) finding.Value {
	changed := false
	var walk func(v gjson.Result) any
	walk = func(v gjson.Result) any {
		switch {
		case v.IsArray():
			out := []any{}
			v.ForEach(func(_, one gjson.Result) bool { out = append(out, walk(one)); return true })
			return out
		case v.IsObject():
			out := map[string]any{}
			v.ForEach(func(key, one gjson.Result) bool { out[key.Str] = walk(one); return true })
			return out
		case v.Type == gjson.String:
			masked := m.Text(v.Str)
			changed = changed || masked != v.Str
			return masked
		default:
			return json.RawMessage(v.Raw)
		}
	}
	masked := walk(gjson.Parse(v.JSON))
	if !changed {
		return v
	}
	text, err := json.Marshal(masked)
	if err != nil {
		return v
	}
	return finding.Value{JSON: string(text)}
}
