package com.acme

import kotlin.math.*

typealias Names = List<String>

fun main(args: Array<String>) {
    println("${args.map { "x" }}")
}

fun <T> List<T>.second(): T = this[1]
fun short(x: Int) =
    if (x > 1) { 1 } else { 2 }

data class User(val name: String, val age: Int = 3)

sealed interface Shape

enum class Color(val rgb: Int) {
    RED(1), GREEN(2);
    fun hex(): String { return "" }
}

open class Repo<T : Any>(private val db: Db) : Base(db), Closeable
{
    val size: Int
        get() { return 1 }
    init { println("x") }
    companion object {
        fun create(): Repo<Any> = Repo(Db())
    }
    override suspend fun load(id: Long): T? {
        fun inner() {}
        return null
    }
    private inner class Row { fun get() = 1 }
    @Test
    fun `does what it says`() {
    }
}

object Single : Shape {
    fun go() {}
}
