package console

// CookieName is the name of the cookie that browsers get.
func (c *Console) CookieName() string { return c.cookieName() }
