#pragma once
#include <vector>

namespace acme::engine {

template <typename T, int N = 3>
class Engine final : public Base<T>, private Other {
public:
	explicit Engine(int n) : n_(n), v_{1, 2}, base<T>() {}
	virtual ~Engine() = default;
	Engine(const Engine &) = delete;
	virtual void run() const noexcept override;
	int size() const { return n_; }
	bool operator==(const Engine &other) const { return true; }
	void operator()(int x) {}
	template <class U> U get(std::vector<U> v = {}) { return v[0]; }
	auto later() -> int;
	enum class Mode : int { On, Off };
	struct Inner { int a; void go() {} };
private:
	int n_ = 1'000;
	std::vector<int> v_;
};

using Callback = std::function<void(int)>;

extern "C" {
int c_api(void);
}

template <typename T>
void Engine<T>::run() const {
	auto s = R"x(} )" )x";
	auto l = [](int a) { return a; };
}

Other::Other(int a) : a_{a}, b_(a)
{
}

Other::~Other() {}

} // namespace
