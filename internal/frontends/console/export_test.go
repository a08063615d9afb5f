package console

// CookieName exports cookieName for tests.
func (c *Console) CookieName() string { return c.cookieName() }
