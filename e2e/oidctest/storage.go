package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// storage implements what the provider needs for the grant client_credentials. It implements
// nothing for other grants, because no client may use them.
type storage struct {
	op.Storage
	key *signingKey
}

var (
	_ op.Storage                  = (*storage)(nil)
	_ op.ClientCredentialsStorage = (*storage)(nil)
)

func (s *storage) Health(context.Context) error { return nil }

func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.key, nil }

func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{s.key.algorithm}, nil
}

func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey{s.key}}, nil
}

func (s *storage) ClientCredentials(_ context.Context, id, secret string) (op.Client, error) {
	if secret != "secret" {
		return nil, errors.New("the secret of every client must be secret")
	}
	return readClient(id)
}

// ClientCredentialsTokenRequest returns the contents of a token.
func (s *storage) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	c, err := readClient(id)
	if err != nil {
		return nil, err
	}
	c.scopes = scopes
	return c, nil
}

func (s *storage) CreateAccessToken(_ context.Context, request op.TokenRequest) (string, time.Time, error) {
	c, ok := request.(*client)
	if !ok {
		return "", time.Time{}, fmt.Errorf("unexpected token request %T", request)
	}
	return rand.Text(), time.Now().Add(c.life), nil
}

func (s *storage) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(scopes, " ")}, nil
}

// client is a client and the contents of its tokens.
type client struct {
	id, subject string
	audience    []string
	life        time.Duration
	begins      time.Duration // delay until tokens are valid
	scopes      []string
}

// readClient parses the name of a client.
func readClient(id string) (*client, error) {
	is, err := url.ParseQuery(id)
	if err != nil {
		return nil, err
	}
	life, err := time.ParseDuration(is.Get("life"))
	var begins time.Duration
	if text := is.Get("begins"); err == nil && text != "" {
		begins, err = time.ParseDuration(text)
	}
	return &client{id: id, subject: is.Get("sub"), audience: is["aud"], life: life, begins: begins}, err
}

func (c *client) GetSubject() string    { return c.subject }
func (c *client) GetAudience() []string { return c.audience }
func (c *client) GetScopes() []string   { return c.scopes }

func (c *client) GetID() string                       { return c.id }
func (c *client) RedirectURIs() []string              { return nil }
func (c *client) PostLogoutRedirectURIs() []string    { return nil }
func (c *client) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (c *client) AuthMethod() oidc.AuthMethod         { return oidc.AuthMethodBasic }
func (c *client) ResponseTypes() []oidc.ResponseType  { return nil }
func (c *client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}
func (c *client) LoginURL(string) string               { return "" }
func (c *client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c *client) IDTokenLifetime() time.Duration       { return time.Hour }
func (c *client) DevMode() bool                        { return false }
func (c *client) IsScopeAllowed(string) bool           { return true }
func (c *client) IDTokenUserinfoClaimsAssertion() bool { return false }

// Subtracted from the start time of tokens.
func (c *client) ClockSkew() time.Duration { return -c.begins }

func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string     { return keep }
func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return keep }

func keep(scopes []string) []string { return scopes }
