package signin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account/factor"
)

// SecurityKeyList is the caller's security keys.
type SecurityKeyList struct {
	Data []factor.SecurityKey `json:"data" doc:"The oldest first."`
}

// SecurityKeyFinish is a key that has answered.
type SecurityKeyFinish struct {
	Name       string          `json:"name" minLength:"1" maxLength:"64" doc:"What tells it from your other keys."`
	Credential json.RawMessage `json:"credential" doc:"What navigator.credentials.create has returned, as its toJSON writes it."`
}

// SecurityKeyMade is a key just added.
type SecurityKeyMade struct {
	factor.SecurityKey
	RecoveryCodes
}

// securityKeys are the operations on the caller's security keys, and the challenges that keys answer.
func (s area) securityKeys() {
	const path = ownPath + "/keys"
	rest.Handle(s.API, own("list-security-keys", "GET "+path, "List your security keys and passkeys"),
		func(ctx context.Context, _ *struct{}) (*SecurityKeyList, error) {
			f, err := s.accounts.OwnFactors(ctx)
			if err != nil {
				return nil, err
			}
			found, err := f.Keys(ctx)
			return &SecurityKeyList{rest.OrEmpty(found)}, err
		})

	begin := own("begin-security-key", "POST "+path, "Begin to add a security key or passkey as second factor", 404, 409)
	begin.Description = "The answer is for navigator.credentials.create in a page of this server's public_url. 404, " +
		"security_keys_not_configured, where that is no https address with a host name."
	rest.Handle(s.API, begin, func(ctx context.Context, in *struct {
		Challenge
		Body FactorBegin
	}) (*factor.KeyOptions, error) {
		options, err := s.accounts.BeginSecurityKey(ctx, in.Body.Password, in.from.Address)
		return &options, err
	})

	finish := own("finish-security-key", "POST "+path+"/finish", "Add the security key that has answered", 404, 409)
	finish.DefaultStatus = http.StatusCreated
	finish.Description = "Signing in by password takes any of your factors from now on. With the first one your other sessions end."
	rest.Handle(s.API, finish, func(ctx context.Context, in *struct{ Body SecurityKeyFinish }) (*SecurityKeyMade, error) {
		k, codes, err := s.accounts.FinishSecurityKey(ctx, in.Body.Name, in.Body.Credential)
		rest.About(ctx, k.ID)
		return &SecurityKeyMade{k, RecoveryCodes{codesMessage(codes), codes}}, err
	})

	challenge := own("challenge-security-key", "POST "+ownPath+"/challenge",
		"Ask your security keys for the proof that removes a factor", 404)
	challenge.Description = "The answer is for navigator.credentials.get; what that returns is the credential of one removal."
	rest.Handle(s.API, challenge, func(ctx context.Context, _ *struct{}) (*factor.KeyOptions, error) {
		f, err := s.accounts.OwnFactors(ctx)
		if err != nil {
			return nil, err
		}
		options, err := f.Challenge(ctx)
		return &options, err
	})

	remove := own("delete-security-key", "DELETE "+path+"/{security_key_id}",
		"Remove a security key, with any second factor", 404, 413, 415)
	Act(s.API, remove, "The security key is removed.", func(ctx context.Context, in *struct {
		ID   string `path:"security_key_id" doc:"The key's id, as in the list."`
		Body FactorProof
	}) error {
		f, err := s.accounts.OwnFactors(ctx)
		if err == nil {
			err = f.CheckKey(ctx, in.ID)
		}
		if err != nil {
			return err
		}
		proof, err := in.Body.proof()
		if err != nil {
			return err
		}
		return f.DeleteKey(ctx, in.ID, proof)
	})

	login := rest.NewOp("login-challenge", "POST "+loginPath+"/challenge", tag,
		"Ask the security keys of a user for the second step of their login", 401, 404)
	login.Auth = rest.None
	login.Description = "The answer is for navigator.credentials.get; what that returns is the credential of the second step, with the " +
		"same ticket. 404, security_key_not_found, when the user has no key: ask for a code. Wrong tickets are slowed down (429)."
	rest.Handle(s.API, login, func(ctx context.Context, in *struct {
		Challenge
		Body TicketBody
	}) (*factor.KeyOptions, error) {
		options, err := s.accounts.ChallengeLogin(ctx, in.Body.Ticket, in.from.Address)
		return &options, err
	})
}
