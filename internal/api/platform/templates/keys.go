package templates

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/signer"
)

// TemplateKey is a key whose signed templates may run programs.
type TemplateKey struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Owner       string    `json:"owner" doc:"The owner that the certificate names."`
	Fragment    string    `json:"fragment" doc:"The key's name in signatures: what follows the colon in a digest line."`
	Certificate string    `json:"certificate" doc:"The certificate, in PEM."`
	AddedBy     string    `json:"added_by" doc:"The id of the admin who added it."`
	CreatedAt   time.Time `json:"created_at"`
}

// TemplateKeyList has the keys that a team trusts.
type TemplateKeyList struct {
	Message string        `json:"message"`
	Allowed bool          `json:"allowed" doc:"The operator lets this server run programs of signed templates."`
	Results []TemplateKey `json:"results"`
}

// TemplateKeyAdded is a key that a team trusts from now on.
type TemplateKeyAdded struct {
	Message string      `json:"message"`
	Key     TemplateKey `json:"key" doc:"The key."`
}

// TemplateKeyAddition names a certificate.
type TemplateKeyAddition struct {
	Name        string `json:"name,omitempty" maxLength:"128" doc:"Its name; that of the certificate's owner without it."`
	Certificate string `json:"certificate" minLength:"1" maxLength:"16384" doc:"The certificate of the key, in PEM, as 'vedette templates keys' writes it. The private key stays with its owner."`
}

func keyOf(k signer.Key) TemplateKey { return TemplateKey(k) }

// keys are the operations about whose templates may run programs.
func (s area) keys() {
	const path = "/v1/template-keys"
	list := wire.Op("list-template-keys", "GET "+path, tag, "List the keys whose signed templates may run programs")
	list.Description = "A template that runs programs (code) is tested where the operator of the server allows it, and its signature " +
		"verifies against one of these keys or one that the operator trusts. Else the coverage of the scan says why not."
	handle(s, list, func(ctx context.Context, _ *struct{}) (*TemplateKeyList, error) {
		found, err := s.Signers.FindAll(ctx)
		return &TemplateKeyList{"Keys that your team trusts.", s.Signers.Allowed(), rest.Each(found, keyOf)}, err
	})
	handle(s, wire.Op("add-template-key", "POST "+path, tag,
		"Trust a key: programs of templates that it signed may run for your team", 403, 409),
		func(ctx context.Context, in *struct{ Body TemplateKeyAddition }) (*TemplateKeyAdded, error) {
			k, err := s.Signers.Add(ctx, in.Body.Name, in.Body.Certificate)
			if err == nil {
				rest.About(ctx, k.ID)
			}
			return &TemplateKeyAdded{"Templates that this key signed may run programs.", keyOf(k)}, err
		})
	handle(s, wire.Op("delete-template-key", "DELETE "+path+"/{key_id}", tag,
		"Trust a key no more", 403, 404),
		func(ctx context.Context, in *struct {
			ID string `path:"key_id" doc:"The key's id."`
		}) (*wire.Message, error) {
			return wire.Messagef("The key is not trusted any more."), s.Signers.Delete(ctx, in.ID)
		})
}
