import React from 'react'

interface Props { title: string }

export function Card({ title }: Props) {
  return (
    <div className="card">
      <p>Don't {title ? (
        <b>{`it's ${title}`}</b>
      ) : null}</p>
      <Icon name={title} /> {title && <Icon name="x" />}
    </div>
  )
}

export const List: React.FC<Props> = ({ title }) => {
  const items = title.split(/\s+/)
  return <ul>{items.map((item) => <li key={item}>{item}</li>)}</ul>
}

exports.helper = function (a) { return a }
module.exports.other = (a) => a
List.prototype.render = function () {
  return null
}
class Plain extends React.Component {
  state = { open: false }
  render() { return <p>{'}'}</p> }
}
export default class extends Plain {
  go() {}
}
