using System;
#region usings
using System.Linq;
#endregion

namespace Acme.Users
{
    [Serializable]
    public partial class UserService<T> : IService, IDisposable where T : class, new()
    {
        private readonly Dictionary<string, int> _map = new() { ["a"] = 1 };
        public string Name { get; set; } = "x";
        public int Count => _map.Count;
        public event EventHandler Changed;

        public UserService(string name) : base(name)
        {
            Name = $"{name} {_map["a"]} {{";
        }

        [HttpGet("{id}")]
        public async Task<List<User>> FindAsync(string id, CancellationToken token = default)
        {
            var path = @"C:\dir\";
            void Local() { }
            return null;
        }

        public override string ToString() => $"User {Name}";
        public static bool operator ==(UserService<T> a, UserService<T> b) => true;
        void IDisposable.Dispose() { }
#if DEBUG
        void Debug() {
#else
        void Release() {
#endif
        }
    }

    public record User(string Name, int Age);
    public record struct Point(int X, int Y);
    public enum Level { Low = 1, High }
    internal interface IService { Task<int> Run(int a); }
    public struct Size { public int W; }
}
