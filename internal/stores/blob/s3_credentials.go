package blob

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"
)

var errNoneSet = errors.New("a library on S3 needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")

// credentialsError reports why there are no credentials.
type credentialsError struct{ error }

// chain queries its sources in order, and keeps the credentials until shortly before they expire.
// Unlike the chain of minio-go, it never falls back to unsigned requests.
type chain struct {
	sources []credentials.Provider
	expiry  credentials.Expiry
	lasting bool // the credentials do not expire
}

// RetrieveWithCredContext returns the credentials of the first source that has any, or the first
// error.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	first := errNoneSet
	for _, source := range c.sources {
		value, err := source.RetrieveWithCredContext(cc)
		if err == nil && value.AccessKeyID != "" && value.SecretAccessKey != "" {
			c.lasting = value.Expiration.IsZero()
			c.expiry.SetExpiration(value.Expiration, credentials.DefaultExpiryWindow)
			return value, nil
		}
		// Its message may repeat the token.
		if response, ok := errors.AsType[credentials.ErrorResponse](err); ok {
			err = fmt.Errorf("the token service answered with %s", safeWord(response.STSError.Code))
		}
		if _, ok := source.(*instanceMetadata); err != nil && !ok && errors.Is(first, errNoneSet) {
			first = err
		}
	}
	if !errors.Is(first, errNoneSet) {
		first = fmt.Errorf("get credentials for the S3 store: %w", first)
	}
	return credentials.Value{}, &credentialsError{first}
}

// Retrieve implements credentials.Provider.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired reports whether the credentials must be fetched again.
func (c *chain) IsExpired() bool { return !c.lasting && c.expiry.IsExpired() }

// instanceMetadata is the metadata service of an Amazon virtual machine. If it does not answer,
// that is not an error.
type instanceMetadata struct{ credentials.IAM }

// credentialsFrom returns the sources of credentials: environment variables, a profile, a web
// identity token, a container; and the virtual machine if none of these is set. remote reports
// whether a service provides them, which need not be available yet.
func credentialsFrom(env func(string) string, region string) (c *chain, remote bool) {
	c = &chain{}
	add := func(source credentials.Provider, set bool) {
		if set {
			c.sources = append(c.sources, source)
		}
	}
	value := credentials.Value{
		AccessKeyID: env("AWS_ACCESS_KEY_ID"), SecretAccessKey: env("AWS_SECRET_ACCESS_KEY"), SessionToken: env("AWS_SESSION_TOKEN"),
		SignerType: credentials.SignatureV4,
	}
	add(&credentials.Static{Value: value}, value.AccessKeyID+value.SecretAccessKey != "")
	local := len(c.sources)
	add(&profile{env: env, region: region}, true)
	add(&credentials.STSWebIdentity{
		STSEndpoint: tokenService(env, region), RoleARN: env("AWS_ROLE_ARN"),
		GetWebIDTokenExpiry: func() (*credentials.WebIdentityToken, error) {
			// Read each time, because it is renewed.
			token, err := os.ReadFile(env("AWS_WEB_IDENTITY_TOKEN_FILE"))
			return &credentials.WebIdentityToken{Token: strings.TrimSpace(string(token))}, err
		},
	}, env("AWS_WEB_IDENTITY_TOKEN_FILE") != "")
	// minio-go itself reads the other environment variables of containers.
	container := env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")+env("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	add(&credentials.IAM{Client: localClient(5 * time.Second)}, container)
	remote = len(c.sources) > local+1
	alone := local == 0 && !remote && env("AWS_PROFILE") == "" && !strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true")
	endpoint := strings.TrimRight(env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
	add(&instanceMetadata{credentials.IAM{Client: localClient(time.Second), Endpoint: endpoint}}, alone)
	return c, remote
}

// localClient returns a client for services of this machine, without a proxy.
func localClient(timeout time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
}

// tokenService returns the URL of the service that exchanges tokens and roles for credentials.
func tokenService(env func(string) string, region string) string {
	suffix := ""
	if strings.HasPrefix(region, "cn-") {
		suffix = ".cn"
	}
	return cmp.Or(env("AWS_ENDPOINT_URL_STS"), "https://sts."+region+".amazonaws.com"+suffix)
}

// profile reads the shared configuration files of the AWS tools.
type profile struct {
	credentials.FileAWSCredentials
	env    func(string) string
	region string
}

// RetrieveWithCredContext reads the profile that AWS_PROFILE names, or the default one, which may
// be missing. It handles roles itself and leaves the rest to minio-go.
func (p *profile) RetrieveWithCredContext(cc *credentials.CredContext) (value credentials.Value, err error) {
	name := cmp.Or(p.env("AWS_PROFILE"), "default")
	file := func(variable, name string) string {
		home := cmp.Or(p.env("HOME"), p.env("USERPROFILE"))
		if home == "" {
			return cmp.Or(p.env(variable), os.DevNull)
		}
		return cmp.Or(p.env(variable), filepath.Join(home, ".aws", name))
	}
	keys, err := ini.LooseLoad(file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))
	if err != nil {
		return value, fmt.Errorf("read the profiles in AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE: %w", err)
	}
	key := func(of string) string {
		return cmp.Or(keys.Section(name).Key(of).String(), keys.Section("profile "+name).Key(of).String())
	}
	known := key("aws_access_key_id") + key("aws_secret_access_key") + key("sso_role_name") + key("credential_process")
	switch {
	case key("role_arn") != "" && key("source_profile") != "" && key("mfa_serial") == "":
		value, err = p.assume(cc, key)
	case known != "":
		p.Profile = name
		value, err = p.FileAWSCredentials.RetrieveWithCredContext(cc)
	case p.env("AWS_PROFILE") != "" || key("role_arn") != "":
		err = errors.New("it has no credentials that Remit can use; set keys, sso_role_name, a credential_process, " +
			"or a role_arn with source_profile and without mfa_serial")
	}
	if err != nil {
		err = fmt.Errorf("profile %.100q: %w", name, err)
	}
	return value, err
}

// assume assumes a role with the credentials of another profile.
func (p *profile) assume(cc *credentials.CredContext, key func(string) string) (credentials.Value, error) {
	by, err := (&credentials.FileAWSCredentials{Profile: key("source_profile")}).RetrieveWithCredContext(cc)
	if err != nil {
		return by, fmt.Errorf("source_profile: %w", err)
	}
	role := credentials.STSAssumeRole{STSEndpoint: tokenService(p.env, p.region), Options: credentials.STSAssumeRoleOptions{
		AccessKey: by.AccessKeyID, SecretKey: by.SecretAccessKey, SessionToken: by.SessionToken, Location: p.region,
		RoleARN: key("role_arn"), ExternalID: key("external_id"), RoleSessionName: cmp.Or(key("role_session_name"), "remit"),
	}}
	return role.RetrieveWithCredContext(cc)
}
